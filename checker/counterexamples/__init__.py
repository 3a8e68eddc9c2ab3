"""Find the violations of an invalid history, and reduce each to the few operations that show it."""
