"""The faults, one file a subject; ``registry`` has them by name."""
