"""Styles and scripts that are inlined into the pages; the scripts are built from ``web/src``."""
