"""One algorithm a kind of object; what ends in ``_columns`` is the same algorithm on arrays."""
