"""Histories as Arrow and numpy columns, which everything but the judge works on.

==============  ========================================================================================================
``file``        reads a whole ``history.jsonl``, or pieces of one
``lines``       reads lines as columns of events; ``events`` defines these columns and converts them
``pairing``     pairs events into operations, within a piece and across the seams between pieces
``operations``  operations as numpy columns, for pages and plots
==============  ========================================================================================================
"""
