"""What a fault is, its possible targets, and the interfaces it works with.

===========  =================================================================
``fault``    what a fault is, and the context that it works in
``targets``  finds the leader from probes, and chooses nodes by words
``options``  the options of faults that a plan can set
``ports``    interfaces to the nodes and the system; ``clock`` to the clock
``facts``    what the nodes can do
``roles``    finds and signals all processes of a role on its node
``grudges``  which node drops packets from which; ``firewall`` makes the rules
``guard``    decides which faults may be active together
``healing``  heals the other nodes if one node fails
``errors``   the exceptions
===========  =================================================================
"""
