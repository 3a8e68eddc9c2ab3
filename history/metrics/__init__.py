"""Definitions of figures that several packages compute."""
