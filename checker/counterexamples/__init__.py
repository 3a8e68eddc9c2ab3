"""Find the violations of an invalid history, and reduce each to the few operations that show it.

====================  ================================================================================================
``enumerate``         finds all violations of one object, one after the other
``shrink``            cuts a history down to a window, by relaxations that keep linearizable histories linearizable
``any_state``         lets an object of few states start in any of them, so that the window may start late
``minimize``          leaves out of a window the calls that it does not need
``support``           adds the operations that made the values that a core needs
``one_register``      transactions that are wrong on one register alone
``counters``          all violations of a counter, with ``counter_part`` for one that needs several reads
``kv``                all violations of a string
``cas_chains``        the core of a contradiction between chains of CAS operations
``violation_times``   when each violation was seen
====================  ================================================================================================
"""
