"""Figures that several packages need in the same words."""
