"""What objects are: an initial state and a step, each by its name."""
