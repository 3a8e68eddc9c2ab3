"""Judge a run from its recorded data alone: checks of the system, and gates for the run.

======================  ============================================================================================
``conclude``            reads a run's directory, judges it, writes the results; the entry point of all commands
``judge``               checks, gates, and the sentence for the verdict; a pure function of ``recorded``
``gates``               conditions without which a run proves nothing; ``fault_windows``: when faults were in effect
``went_on``             victims that kept answering under a kill or a pause
``node_checks``         checks of what nodes report: ``replicas``, ``election_safety``, ``logs``
``recovery_check``      whether the cluster recovered in time; the rules in ``recovery`` also serve a waiting run
``service``             the kinds of operations that clients must be served, and when they were
``node_alarms``         alarms in the nodes' logs and answers
``system_checks``       the checks that a system brings with it
``clock_faults``        faults that set the clocks by which nodes date their logs
``damage``              what our faults destroyed, and what that excuses
``answers_by_process``  answers of a node that come from one process
``fault_figures``       what each fault cost
``known_defects``       defects of a system, recognised by their marks
``violation_times``     the phase and the faults of each violation
======================  ============================================================================================
"""
