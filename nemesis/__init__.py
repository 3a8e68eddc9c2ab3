"""Faults: what each does to the nodes, how it is undone, and how its effect is proven.

============  ======================================================================
``schedule``  drawn and scripted schedules of faults, and the code that runs them
``deadman``   a timer on each node that lifts our faults if the control node is gone
``sweep``     heals the leftovers of a killed run without its records
``faults``    the faults, one file for each subject, and their registry
``core``      what a fault is, its possible targets, and the interfaces it works with
============  ======================================================================
"""
