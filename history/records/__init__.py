"""The records of a run.

==============  =====================================================================================================
``layout``      the files of a run, and when it started by its name
``events``      ``history.jsonl``; ``writer`` writes it, on ``line_file``
``operations``  invocations paired with completions; ``time_format`` and ``indexes``: their times and indexes as text
``receipts``    what each fault did, and its proof
``probes``      ``probes.jsonl``
``plans``       facts of a run from its plan; ``settings``: those that decide whether two runs can be compared
``verdicts``    verdicts on keys, with their counterexamples
``finding``     what checks and gates found, as data
``results``     ``results.json``: checks with their findings; ``check_records`` reads those of any release
``violations``  the violations in it, the worst first, and ``caveats`` of the checker about them
``log_words``   the meaning of lines of a system's logs
``text``        numbers and lists of names as text
==============  =====================================================================================================
"""
