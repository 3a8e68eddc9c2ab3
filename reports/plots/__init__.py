"""The static set, drawn by matplotlib."""
