"""Compiled code (numba), each file the inner loop of the engine or search that its docstring names."""
