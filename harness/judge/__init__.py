"""Checks of the system and gates of the run, from the recorded data alone."""
