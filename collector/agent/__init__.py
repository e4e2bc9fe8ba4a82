"""The node agent: the node's own metrics on the slices of the profiler. docs/operations.md, docs/node-metrics.md."""
