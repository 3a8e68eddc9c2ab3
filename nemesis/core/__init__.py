"""What a fault is, and what it is given to work with."""
