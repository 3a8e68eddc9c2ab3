"""Reading of runs and stores.

==============  =======================================================================================================
``run``         the files of a run that can be read; ``columns``: its operations; ``unjudged``: why there is no verdict
``check_rows``  checks and gates as rows; ``promises``: what a failed one breaks; ``alarm_lines``: lines it found
``logs``        excerpts of the nodes' logs
``beside``      operations beside a counterexample
``cut_record``  whether operations were taken out of a history; ``standstills``: when the harness stood still
``run_row``     a run as a row of lists; ``store_index`` keeps them; ``last_valid``: the last of the same plan
``staleness``   pages that were drawn from other results
``safe_open``   files in a store, by no symbolic link
==============  =======================================================================================================
"""
