"""Readers of runs and stores.

=====================  =============================================================================================
``run``                reads the recording of a run as far as possible; ``unjudged``: why a run has no verdict
``check_rows``         checks and gates as rows; ``promises``: what a failed check breaks; ``alarm_lines``: log alarms
``nearby_operations``  operations near a counterexample
``cut_record``         detects histories from which operations were removed; ``standstills`` of the harness
``run_row``            a run as a row of a list; ``store_index`` caches rows; ``last_valid``: last run of the same plan
``staleness``          detects pages that were drawn from other results
=====================  =============================================================================================
"""
