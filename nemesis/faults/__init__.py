"""The faults, one file a family; ``registry`` has them by name."""
