"""The faults: what each does to the nodes, how it is undone, and the proof that it bit.

============  ======================================================================
``schedule``  when which fault comes: drawn or written down, and carried out
``deadman``   nodes that lift our faults by themselves when nobody is left who would
``sweep``     healing without any memory, for the leftovers of a killed run
``faults``    one file a family, and the registry of all by name
``core``      what a fault is, what it may aim at, and what it is given to work with
============  ======================================================================
"""
