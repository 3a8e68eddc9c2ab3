"""Sequential specifications of objects, and their names."""
