"""Figures that several packages compute by the same definitions."""
