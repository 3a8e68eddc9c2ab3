"""When which fault is injected and healed, and carrying that out."""
