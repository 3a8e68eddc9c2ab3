"""One run, from the plan to its evidence.

===============  =====================================================================================================
``run``          the whole run: cluster, system, load, evidence, conclusion; its parts share a ``context``
``machine``      facts about the machines; ``log_file``: the log of the run
``conductor``    load, faults and probes in parallel; then ``final_phase``, with ``light_load`` while nodes catch up
``load``         the clients, driven by the ``interpreter`` of a generator; with ``precise_timer`` and ``histogram``
``faults``       the faults of the plan on these nodes; ``fault_view``: how they see the system and its nodes
``schedules``    schedules from a script or a recorded run; ``leftovers``: undoes what a killed run left behind
``probes``       the state that every node reports, four times a second
``monitor``      ends the run at the first violation, if the plan asks for that
``standstills``  times when this process was stalled; ``oom`` and ``reboots``: what the machine did to nodes
``progress``     the progress display; ``progress_thread`` draws it without delaying the run
``interrupts``   orderly end on Ctrl-C; ``descriptors``: enough open files for all clients
===============  =====================================================================================================
"""
