"""Check from the probes that logs keep what was committed, and find what became of entries that went from them."""
