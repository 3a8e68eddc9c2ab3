"""Schedules of faults, and the code that runs them."""
