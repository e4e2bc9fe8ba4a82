"""docs/experiments.md: what is measured in it is made of the results of `crosswind experiment run`."""
