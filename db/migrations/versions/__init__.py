"""One file a step, in the order of their numbers. A released step is never changed."""
