"""uPlot 1.6.32 by Leon Sorokin, MIT licence."""
