"""Many runs as one: matrices of cells, what is expected of each, and one verdict over all.

=================  =========================================================================
module             subject
=================  =========================================================================
``suitefile``      the TOML file: strict reading, matrices, overrides
``cells``          cells, their seeds and their share of a shard
``expectation``    what a cell may end with, and what it came to
``cell_process``   one cell as a process of its own
``warm``           one cluster for all cells, looked over between them
``journal``        what was done so far, so that a killed suite can go on
``runner``         the cells one after the other: retries, budget, stop
``table``          what a person sees meanwhile
``outcome``        results.json, summary.txt, the exit code
``junit``          one test case a cell
``markdown``       a table for a CI system
``session``        all of it, from the file to the exit code
``retention``      which old runs may go
``night``          suite, warehouse, trends, site and retention in one
=================  =========================================================================
"""
