"""The sentences at the head of the page: what broke and when it began, what followed, where to look next.

===================  =======================================================================================
``diagnosis``        combines everything below; each thing that broke is a ``Break`` (``breaks``)
``events``           which breaks are one event, and which follow from another
``planted_bug``      what a verdict means, also with a planted bug
``scope``            what a run without a violation tested, and what it did not
``undecided``        why a run has no verdict, and where to look for the reason
``headline``         the answer of a counterexample; ``other_reads``: whether other nodes have what it lacks
``lost_elements``    what nodes' last reads of sets lack
``no_recovery``      a cluster that did not recover
``replicas_behind``  replicas that did not catch up; ``causes``: why, if the records prove it
``aftermath``        clients and leaders since then, and outages
``where_next``       what to read next; ``repeated_lines``: log lines that nodes repeated
``caveats``          what the checker left open
===================  =======================================================================================
"""
