"""Third-party code, unchanged, with its licence."""
