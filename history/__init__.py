"""What every other package speaks: events, operations, receipts, probes, verdicts, results, tables.

Types live here together with their readers, writers and versions, so that a format is defined once.
This package imports nothing of the project's own.

==================  ===============================================================
module              subject
==================  ===============================================================
``events``          one line of ``history.jsonl``: an invocation or a completion
``operations``      an invocation paired with its completion
``receipts``        what a fault did, with its witness
``probes``          one line of ``probes.jsonl``: a node's word about itself
``verdicts``        checks, gates, counterexamples, ``results.json``
``tables``          the Arrow schemas of ``tables/*.parquet``
``plans``           what a plan says of its run, in a few words
``stamps``          name and version in every Parquet file
``warehouse``       the runs and trends of a whole store
``layout``          which file of a run is where
``errors``          what a reader raises on bad input
==================  ===============================================================
"""

from history.errors import FormatError
from history.records.events import (
    HISTORY_FORMAT,
    HISTORY_VERSION,
    SECOND,
    Event,
    Header,
    HistoryFile,
    HistoryWriter,
    read_history,
)
from history.records.layout import RunFiles
from history.records.operations import UNAPPLIED, Operation, pair
from history.records.probes import Probe, read_probes
from history.records.receipts import Receipt, receipts_of
from history.records.verdicts import Check, Counterexample, KeyVerdict, Results, Verdict, worst

__all__ = [
    "HISTORY_FORMAT",
    "HISTORY_VERSION",
    "SECOND",
    "UNAPPLIED",
    "Check",
    "Counterexample",
    "Event",
    "FormatError",
    "Header",
    "HistoryFile",
    "HistoryWriter",
    "KeyVerdict",
    "Operation",
    "Probe",
    "Receipt",
    "Results",
    "RunFiles",
    "Verdict",
    "pair",
    "read_history",
    "read_probes",
    "receipts_of",
    "worst",
]
