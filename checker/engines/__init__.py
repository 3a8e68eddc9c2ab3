"""Engines: one algorithm for each kind of object; ``…_columns`` is the same algorithm on arrays.

Each module ends with its ``Engine``.

================  ====================================================================================================
``registers``     registers whose values are written once, by ``zones``; ``zones_columns``: all keys at once;
                  ``register_lists``: columns of lists of operations
``values``        registers with a read of a value that was never written
``automaton``     registers whose values repeat
``cas_chains``    cas registers whose new values are unique
``logs``          append-only logs; ``log_columns``
``sets``          sets that only grow; ``set_columns``
``multisets``     unordered queues, and identifiers that must be unique
``queues``        FIFO queues; ``queue_columns``, and ``queue_orders``: their linearizations
``kv``            strings with put, append and get, made of ``kv_pieces``; ``kv_partial``: a model for their cores
``counter_sums``  counters with an answer out of its bounds
``transactions``  transactions on several registers whose values are written once
``searches``      any model; ``short_keys``: the search on many short registers at once
``sentences``     explains violations of logs, sets and queues
================  ====================================================================================================
"""
