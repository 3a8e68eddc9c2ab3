"""Check from the probes that logs keep what was committed, and find out what became of entries that logs lost."""
