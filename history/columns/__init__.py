"""Histories as columns of Arrow and numpy: the one pairing, and the form that all but the judge work on.

==============  ========================================================================================================
``file``        a whole ``history.jsonl``, or pieces of one
``lines``       its lines as columns of events; ``events``: what such columns hold, and values from them
``pairing``     events to operations, within a piece and across the seams of pieces
``operations``  operations as numpy columns, as pages and plots use them
==============  ========================================================================================================
"""
