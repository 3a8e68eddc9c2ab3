"""Faults: what each does to the nodes, how it is undone, and the proof that it took effect.

============  ======================================================================
``schedule``  when which fault comes: drawn or written down, and carried out
``deadman``   a timer on each node that lifts our faults when the control node is gone
``sweep``     healing without the run's records, for the leftovers of a killed run
``faults``    one file a subject, and the registry of all by name
``core``      what a fault is, its possible targets, and the interfaces it works with
============  ======================================================================
"""
