"""Explain a violation: a sentence, linearization points, a report for a terminal."""
