"""Colours, numbers and text, the same everywhere."""
