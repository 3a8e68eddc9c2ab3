"""Colours, and how numbers and text are written."""
