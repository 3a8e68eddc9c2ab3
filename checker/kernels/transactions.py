"""Compiled versions of the loops in ``transaction_loops``."""

from __future__ import annotations

from checker.kernels import transaction_loops as loops
from history.compiled import compiled

index_writes = compiled(loops.index_writes)
find_writes = compiled(loops.find_writes)
link_steps = compiled(loops.link_steps)
external_reads = compiled(loops.external_reads)
prefixes = compiled(loops.prefixes)
register_reads = compiled(loops.register_reads)
realtime_versions = compiled(loops.realtime_versions)
own_order = compiled(loops.own_order)
tail_edges = compiled(loops.tail_edges)
session_edges = compiled(loops.session_edges)
realtime_edges = compiled(loops.realtime_edges)
adjacency = compiled(loops.adjacency)
components = compiled(loops.components)
shortest_path = compiled(loops.shortest_path)
deadlines = compiled(loops.deadlines)
serial_order = compiled(loops.serial_order)
is_legal = compiled(loops.is_legal)
