"""Reading of runs and stores."""
