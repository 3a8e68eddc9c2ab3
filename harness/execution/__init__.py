"""One run, from the plan to its evidence.

===============  =====================================================================================================
``run``          the whole: cluster, system, load, evidence, conclusion; its parts share a ``context``
``machine``      the facts about the machines; ``log_file``: the log of the run
``conductor``    load, faults and probes in parallel; then ``final_phase``, with ``light_load`` while nodes catch up
``load``         the clients, which ``interpreter`` drives by a generator; with ``precise_timer`` and ``histogram``
``faults``       the faults of the plan, on these nodes and this system, which they see through ``fault_view``
``schedules``    schedules from a script or a recorded run; ``leftovers``: what a killed run left is undone
``probes``       what every node says, four times a second
``monitor``      ends the run at the first violation, where that is asked for
``standstills``  times in which this process stood still; ``oom`` and ``reboots``: what the machine did to nodes
``progress``     what is shown meanwhile; ``progress_thread`` writes it without delay to the run
``interrupts``   an ordered end at Ctrl-C; ``descriptors``: whether there are files enough for all clients
===============  =====================================================================================================
"""
