"""Suites: matrices of runs (cells) with an expectation for each cell, and one verdict for all of them.

=================  =========================================================================
module             subject
=================  =========================================================================
``suitefile``      the TOML file: strict reading, matrices, overrides
``file_types``     the fields of that file: names, types, bounds
``packaged``       the suites and fault scripts that come with the package
``cells``          cells, their seeds, and the cells of a shard
``expectation``    the outcomes that a cell may have, and the one it has
``cell_process``   one cell as a process of its own
``warm``           one cluster for all cells, checked between them
``journal``        a record of finished runs, so that a killed suite can resume
``runner``         runs the cells in sequence: retries, budget, early end
``table``          progress on the terminal
``outcome``        results.json, summary.txt, the exit code
``junit``          one JUnit test case for each cell
``markdown``       a table for a CI system
``session``        a whole suite, from its file to its exit code
``retention``      which old runs may be removed
``night``          suite, warehouse, trends, site and retention in one
=================  =========================================================================
"""
