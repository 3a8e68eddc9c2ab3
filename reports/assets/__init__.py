"""Styles and scripts that are inlined into the pages."""
