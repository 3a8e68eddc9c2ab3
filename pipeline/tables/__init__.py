"""The tables of one run, computed in this process."""
