"""Standard streams and tables for terminals."""
