"""One run, from the plan to its evidence."""
