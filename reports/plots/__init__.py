"""Static plots by matplotlib."""
