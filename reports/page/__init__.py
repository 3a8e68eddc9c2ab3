"""``report.html`` and the pages like it."""
