"""From a refuted history to its violations, and from each to the few operations that show it."""
