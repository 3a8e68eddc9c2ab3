"""Streams that people read."""
