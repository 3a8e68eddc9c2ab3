"""Searches for an order: at most exponential in concurrency, and complete for any model."""
