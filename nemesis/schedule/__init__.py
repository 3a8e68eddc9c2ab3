"""Schedules of faults, and carrying them out."""
