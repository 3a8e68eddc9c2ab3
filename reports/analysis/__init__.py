"""Analysis of a run's records for page, plots and text.

========================  ============================================================================================
``findings``              a run with all that several parts of the page need (``Drawn``): start here
``node_timeline``         roles, terms and indexes of each node; from it ``elections``, ``progress``, ``snapshots``
``faults``                what each fault cut and cost; ``topology``: the network; ``outages``: times without successes
``counterexample``        its picture; ``rows``: which operations are drawn; ``responder``: the node that answered
``cycle``                 the drawing of a cycle of transactions
``invariant_violations``  failed checks of the nodes; ``sketch``: the small chart next to them
``lagging_nodes``         replicas that fell behind; ``failed_starts``: nodes that do not start again
``log_falls``             truncated logs that led to the loss of an entry
``figures``               rate, latency, availability, counts, errors; ``elements``: what reads of sets lack
``marks``                 marks in charts
``trends``                figures over many runs; ``warehouse``: the pipeline's; ``trend_rows``: rows of both
========================  ============================================================================================
"""
