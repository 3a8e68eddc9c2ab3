"""What all parts of the checker speak."""
