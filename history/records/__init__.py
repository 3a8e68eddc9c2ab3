"""What a run writes down."""
