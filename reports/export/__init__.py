"""Exports of a run to other tools: a trace for Perfetto, the operations as CSV or Parquet.

``export`` writes one; ``perfetto`` lays the run out in tracks, and ``packets`` encodes them.
"""
