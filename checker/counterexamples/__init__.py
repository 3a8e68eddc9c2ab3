"""Find the violations of an invalid history, and reduce each to the few operations that show it.

====================  ===================================================================================
``enumerate``         find all violations of one object, one after the other
``shrink``            cut a history down to a window, by relaxations that keep linearizable ones linearizable
``any_state``         let an object of few states start in any of them, so that the window may start late
``minimize``          leave out of a window what can go
``support``           add the operations that made the values asked for
``one_register``      transactions of which one register alone is wrong
``counters``          all violations of a counter, with ``counter_part`` for one that needs several reads
``kv``                all violations of a string
``cas_chains``        the core of a contradiction between chains of CAS operations
``violation_times``   when a violation came to exist
====================  ===================================================================================
"""
