"""The tables of one run, computed by Spark."""
