"""What a fault is, and the interfaces it works with."""
