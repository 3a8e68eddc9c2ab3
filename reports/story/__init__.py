"""What the page says first: what broke and since when, what came then, where to look next, and of a planted bug."""
