"""The sentences at the head of the page: what broke and since when, what came then, where to look next."""
