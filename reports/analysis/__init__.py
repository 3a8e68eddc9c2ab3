"""What the records say, ready to be shown by page, plots and text."""
