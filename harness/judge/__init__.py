"""Checks of the system and gates of the run, from what was recorded alone."""
