"""Reading of runs and stores.

=====================  =============================================================================================
``run``                what of a recording can be read; ``unjudged``: why it has no verdict
``check_rows``         checks and gates as rows; ``promises``: what a failed one breaks; ``alarm_lines``: its lines
``logs``               excerpts of the nodes' logs; ``log_times``: the dates of their lines
``nearby_operations``  operations near a counterexample
``cut_record``         whether operations were taken out of a history; ``standstills`` of the harness
``run_row``            a row of lists; ``store_index`` keeps them; ``last_valid``: the last run of the same plan
``staleness``          pages that were drawn from other results
=====================  =============================================================================================
"""
