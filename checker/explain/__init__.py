"""A violation in words and as a drawing."""
