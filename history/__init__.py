"""The formats that all packages share: events, operations, receipts, probes, verdicts, results, tables.

=======================  =================================================================================
``recording``            one run as one value: its files, each read once, when it is asked for
``columns``              histories as columns: lines, pairing, operations
``records``              what a run writes down, one file a kind of line, and where each file of a run is
``tables``               the schemas of the Parquet tables, and the version that is written into each file
``metrics``              figures that several packages share: recovery, regressions, time without standstills
``readers``              histories from elsewhere, and our own by columns
``toml_file``            files that people write, with errors that say what a file is instead
``schema``               what may stand in such files: a type says it, and one wording says what is wrong
``json_object``          the reader of JSON objects
``safe_open``            files below a run that a stranger may have made: plain ones, by no link, of bounded size
``under_way``            the lock by which a run under way is known
``codes``                numeric codes of functions, outcomes and missing values in columns
``compiled``             numba's compiler, with a cache that knows all of our compiled code
``no_pandas``            keeps pyarrow from importing pandas in our own processes
``file_signatures``      recognizes compressed files where a text is expected
``errors``               what readers raise
``system_entry_points``  the systems under test of all installed packages
``extras``               the optional parts of an installation, and what is said where one is missing
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
        Point,
        Role,
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
    "Point",
    "Probe",
    "Receipt",
    "Results",
    "Role",
    "RunFiles",
    "Verdict",
    "pair",
    "read_history",
    "read_probes",
    "receipts_of",
    "worst",
]

#: Where these names are from, the module that costs least first.
_MODULES: Final = ("errors", *(f"records.{name}" for name in (
    "layout", "events", "writer", "operations", "verdicts", "probes", "receipts", "results",
)))  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: a command that only prints its help uses none."""
    if name in __all__:
        for home in _MODULES:
            module = import_module(f"history.{home}")
            if hasattr(module, name):
                globals()[name] = value = getattr(module, name)
                return value
    raise AttributeError(f"module 'history' has no attribute {name!r}")
