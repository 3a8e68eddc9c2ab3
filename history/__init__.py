"""The formats that all packages share: events, operations, receipts, probes, verdicts, results and tables.

=======================  =================================================================================
``recording``            one run as one value; each of its files is read once, on first use
``node_logs``            lines of the nodes' logs around a given time; ``log_times``: the dates of log lines
``columns``              histories as columns: lines, pairing, operations
``records``              the records of a run, one module for each kind, and the layout of a run's directory
``tables``               the schemas of the Parquet tables, and the version written into each file
``metrics``              figures that several packages share: recovery, regressions, time without standstills
``readers``              readers of other tools' histories, and a reader of our own as columns
``toml_file``            reads files that people write; errors say what a file really is
``schema``               checks such files against types, with one wording for all errors
``json_object``          the reader of JSON objects
``safe_open``            opens untrusted files in a run: regular files of bounded size, no links
``under_way``            the lock that marks a run as under way
``codes``                numeric codes for functions, outcomes and missing values in columns
``compiled``             numba's compiler, with a cache that depends on all of our compiled code
``loading_clock``        a clock that stands still while compiled code is loaded
``no_pandas``            keeps pyarrow from importing pandas in our own processes
``file_signatures``      recognizes compressed files where text is expected
``errors``               the error that readers raise
``system_entry_points``  the systems under test from all installed packages
``extras``               the optional parts of an installation, and the error for a missing one
=======================  =================================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from history.errors import FormatError
    from history.records.events import (
        HISTORY_FORMAT,
        HISTORY_VERSION,
        SECOND,
        Event,
        Header,
        HistoryFile,
        read_history,
    )
    from history.records.layout import RunFiles
    from history.records.operations import UNAPPLIED, Operation, pair
    from history.records.probes import Probe, read_probes
    from history.records.receipts import Receipt, receipts_of
    from history.records.results import Check, Results
    from history.records.verdicts import (
        Counterexample,
        KeyVerdict,
        Linearization,
        OperationRole,
        Point,
        Verdict,
        worst,
    )
    from history.records.writer import HistoryWriter

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
    "Linearization",
    "Operation",
    "OperationRole",
    "Point",
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

#: The modules that define these names, cheapest import first.
_MODULES: Final = ("errors", *(f"records.{name}" for name in (
    "layout", "events", "writer", "operations", "verdicts", "probes", "receipts", "results",
)))  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, because a command that only prints its help needs none."""
    if name in __all__:
        for home in _MODULES:
            module = import_module(f"history.{home}")
            if hasattr(module, name):
                globals()[name] = value = getattr(module, name)
                return value
    raise AttributeError(f"module 'history' has no attribute {name!r}")
