"""Checks of the system and gates of the run, from the recorded data alone.

======================  ============================================================================================
``conclude``            reads a run's directory, judges it, writes what was concluded; what all verbs call
``judge``               checks, gates, and the sentence for the verdict; a pure function of ``recorded``
``gates``               conditions without which a run proved nothing; ``fault_windows``: when faults stood
``went_on``             victims that went on answering under a kill or a pause
``node_checks``         the checks of what nodes say of themselves: ``replicas``, ``election_safety``, ``logs``
``recovery_check``      whether the cluster recovered in time; ``recovery`` has the rules, also for a run that waits
``service``             what clients must be served with, and when they were
``node_alarms``         alarms in the nodes' logs and answers
``system_checks``       the checks that a system brings with it
``damage``              what faults of ours destroyed, and what that excuses
``answers_by_process``  answers of a node that come from one process
``fault_figures``       what each fault cost
``known_defects``       defects of a system, recognised by their marks
``violation_times``     the phase and the faults of each violation
======================  ============================================================================================
"""
