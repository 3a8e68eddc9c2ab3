"""Compiled code (numba), each file the inner loop of the module that names it."""
