"""The records of a run.

==============  =====================================================================================================
``layout``      the files of a run, and its start time from the directory name
``events``      ``history.jsonl``; ``writer`` writes it, using ``line_file``
``operations``  invocations paired with completions; ``time_format`` and ``indexes`` format their times and indexes
``receipts``    what each fault did, with proof
``probes``      ``probes.jsonl``
``plans``       facts about a run from its plan; ``settings`` has those that decide whether two runs are comparable
``verdicts``    verdicts on keys, with their counterexamples
``finding``     what checks and gates found, as data; ``recovery`` is how a cluster came back
``results``     ``results.json``: checks with their findings; ``check_records`` reads those of any release
``violations``  the violations in ``results.json``, worst first; ``caveats`` has the checker's caveats about them
``log_words``   patterns that say what lines in a system's logs mean
``text``        formats counts and lists of names
==============  =====================================================================================================
"""
