"""Suites: matrices of runs (cells), the expectation for each, and one verdict over all.

=================  =========================================================================
module             subject
=================  =========================================================================
``suitefile``      the TOML file: strict reading, matrices, overrides
``file_types``     its fields: names, types, bounds
``packaged``       the suites and scripts of faults that come with the package
``cells``          cells, their seeds and their share of a shard
``expectation``    the outcomes that a cell may have, and the one it has
``cell_process``   one cell as a process of its own
``warm``           one cluster for all cells, checked between them
``journal``        a record of what is done, so that a killed suite can go on
``runner``         the cells one after the other: retries, budget, stop
``table``          progress on the terminal
``outcome``        results.json, summary.txt, the exit code
``junit``          one test case a cell
``markdown``       a table for a CI system
``session``        a whole suite, from its file to its exit code
``retention``      which old runs may go
``night``          suite, warehouse, trends, site and retention in one
=================  =========================================================================
"""
