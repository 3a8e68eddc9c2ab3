"""The tables of all runs."""
