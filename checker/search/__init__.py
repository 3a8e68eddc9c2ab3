"""Searches for an order: exponential in concurrency at most, and complete for any model."""
