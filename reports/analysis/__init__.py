"""Computed from a run's records, for page, plots and text."""
