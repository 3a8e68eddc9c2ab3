"""The pages over many runs."""
