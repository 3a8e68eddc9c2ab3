"""Sentences about findings.  The judge and the page both take them from here, so that they agree."""
