"""Check in the probes that logs keep committed entries, and find out what became of entries that logs lost."""
