"""`crosswind experiment`: known programs run against each other, profiled, loaded and evaluated."""
