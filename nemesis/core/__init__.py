"""Faults, their possible targets, and the interfaces they work with.

===========  =================================================================
``fault``    what a fault is, and the context that it works in
``targets``  the leader by probe, and choices by words
``options``  what a plan may set of a fault
``ports``    the nodes and the system, as faults see them; ``clock``
``facts``    what the nodes can do
``roles``    all processes of a role on its node
``grudges``  which node drops packets from which; ``firewall``: by which rules
``guard``    which faults may stand together
``healing``  heals one node though another fails
``errors``   the exceptions
===========  =================================================================
"""
