"""The way of spool files and node files from a node to the collector: bundles, by a shared directory or NATS."""
