"""Isolation levels of transactions, decided in linear time from the graph of their dependencies.

After Adya, Liskov and O'Neil (2000), and Elle (Kingsbury and Alvaro 2020).  Some rules differ; see
``docs/transactions.md``.

===============  ======================================================================================
``check``        the verdict in the form that all models have
``verdict``      which levels hold, with a shortest cycle for one that does not
``transaction``  the form in which callers of the library pass transactions
``list_append``  dependencies of transactions that append to lists: the reads show the order of all appends
``rw_register``  dependencies of transactions that write registers: some of the order is known
``anomalies``    what these two have in common
``graph``        components of the graph, and the names of the cycles in them
===============  ======================================================================================
"""
