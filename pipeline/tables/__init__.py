"""The tables of one run, computed in this process.

===============  ===================================================================================================
``local``        all of them
``judging``      verdicts by key
``windows``      operations by second; ``load_figures``: over the whole run
``recovery``     faults, with the cost of each
``conclusions``  checks, coverage, environment, counterexamples; ``events``: what happened when
``runs``         the row of the run in the table of all runs
``storage``      Parquet files, written all or nothing
===============  ===================================================================================================
"""
