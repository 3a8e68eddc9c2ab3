"""Explain a violation: a sentence, linearization points, and a report for a terminal."""
