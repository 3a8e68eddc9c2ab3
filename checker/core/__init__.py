"""Types and functions that all parts of the checker share."""
