"""Faults, their possible targets, and the interfaces they work with."""
