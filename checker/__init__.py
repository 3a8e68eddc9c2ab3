"""Decide whether a recorded history is linearizable, and prove the verdict either way.

Pure functions: no files, no threads, and no clock but one that is passed in.

    >>> from history import Event
    >>> from checker import check
    >>> report = check([
    ...     Event(0, 10, "invoke", 0, "write", 7), Event(1, 20, "ok", 0, "write", 7),
    ...     Event(2, 30, "invoke", 1, "read", None), Event(3, 40, "ok", 1, "read", None),
    ... ])
    >>> report.verdict, report.keys[0].counterexamples[0].kind
    ('invalid', 'lost-write')

The modules, in the order in which a history passes through them; none imports one above it:

===================  ====================================================================================
``check``            check a whole history, in any form that it comes in
``columnar``         check millions of operations on registers, in one pass where that is possible
``monitor``          check a run while it goes on, event by event
``per_key``          one object, or a history key by key: verdict, proof, counterexamples
``turns``            divide a deadline among keys
``foreign``          conventions: what the operations of a file mean to the model that they are judged by
``explain``          a small core as a sentence with linearization points; a report for a terminal
``counterexamples``  all violations of an object, each reduced to the operations that show it
``dispatch``         choose the engine, by the model and the history
``warmup``           compile or load the kernels, so that the first check is fast, and say whether that was done
``transactions``     isolation levels of transactions, by the graph of their dependencies
``weak_levels``      levels of registers below linearizability
``engines``          one algorithm for each kind of object, next to its version on columns
``search``           the searches, which decide any model: just-in-time, compiled, and WGL
``kernels``          compiled code (numba) and nothing else
``models``           the sequential specifications of objects, and their names
``core``             shared by all of these: model, calls, options, results, intervals, the definition, wording
===================  ====================================================================================
"""

from typing import TYPE_CHECKING, Any

from checker.check import as_events, check, check_transactions
from checker.core.model import ANY, ILLEGAL, UNKNOWN, CasRegister, Model, ModelError, Register
from checker.core.result import CertificateError, Report
from checker.models.objects import Counter, FifoQueue, GrowSet, KeyValue, Log, MultiRegister, Mutex
from checker.models.registry import MODELS, model_named
from checker.per_key import check_operations
from checker.transactions.transaction import Transaction
from checker.warmup import warm

if TYPE_CHECKING:
    from checker.transactions.verdict import Anomaly, IsolationReport

__all__ = [
    "ANY",
    "ILLEGAL",
    "MODELS",
    "UNKNOWN",
    "Anomaly",
    "CasRegister",
    "CertificateError",
    "Counter",
    "FifoQueue",
    "GrowSet",
    "IsolationReport",
    "KeyValue",
    "Log",
    "Model",
    "ModelError",
    "MultiRegister",
    "Mutex",
    "Register",
    "Report",
    "Transaction",
    "as_events",
    "check",
    "check_operations",
    "check_transactions",
    "model_named",
    "warm",
]


def __getattr__(name: str) -> Any:
    """Import the names of reports on transactions when they are used: most checks have no transactions."""
    if name not in ("Anomaly", "IsolationReport"):
        raise AttributeError(f"module 'checker' has no attribute {name!r}")
    from checker.transactions import verdict

    return getattr(verdict, name)
