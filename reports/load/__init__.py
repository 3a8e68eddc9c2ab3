"""What can be read of a run and of a store."""
