"""Compiled code (numba): each module is the inner loop of the engine or search that its docstring names.

=====================  =========================================================================================
``encode``             chooses the calls that matter, numbers their values, ranks their events
``zones``              the zones of many registers
``automaton``          the value-timeline automaton, with ``slots`` for open calls and ``pending_writes``
``many_keys``          the automaton, or zones and automaton, on one key after the other
``short_keys``         the search on one short key after the other
``cas_chains``         chains of CAS operations
``search``             just-in-time linearization, on ``search_state``, and on ``multi_register``
``multi_register``     states of several registers as rows
``transaction_loops``  loops over transactions in plain Python, which ``transactions`` compiles
``open_calls``         the calls that are open at each return
=====================  =========================================================================================
"""
