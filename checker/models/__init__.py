"""Sequential specifications of objects.

==================  ========================================================================
``registry``        all of them by name
``objects``         logs, sets, queues, counters, locks, registers together, key-value stores
``multisets``       unordered queues, unique identifiers
``replicated``      sets and counters whose replicas may be behind
``bank``            accounts that amounts are moved between
``transactions``    transactions on lists and registers; ``levels``: their isolation levels
``weak_register``   registers at a level below linearizability
``etcd``            etcd's store with revisions and leases
``ledger``          a log of which others use some indexes
``fenced_lock``     a lock that gives out growing tokens
``sync_state_set``  replicas that are in sync, as a controller records them
==================  ========================================================================
"""
