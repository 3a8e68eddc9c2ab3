"""Decides whether a recorded history is linearizable, and proves the answer either way.

Pure functions: no files, no threads, no clock but the one that is handed in.

    >>> from history import Event
    >>> from checker import check
    >>> report = check([
    ...     Event(0, 10, "invoke", 0, "write", 7), Event(1, 20, "ok", 0, "write", 7),
    ...     Event(2, 30, "invoke", 1, "read"), Event(3, 40, "ok", 1, "read", None),
    ... ])
    >>> report.verdict, report.keys[0].counterexamples[0].kind
    ('invalid', 'lost-write')
"""

from checker.check import as_events, check
from checker.core.model import ANY, ILLEGAL, UNKNOWN, CasRegister, Model, ModelError, Register
from checker.models.objects import Counter, FifoQueue, GrowSet, KeyValue, Log, MultiRegister, Mutex
from checker.models.registry import MODELS, model_named
from checker.per_key import CertificateError, Report, check_operations
from checker.warmup import warm

__all__ = [
    "ANY",
    "ILLEGAL",
    "MODELS",
    "UNKNOWN",
    "CasRegister",
    "CertificateError",
    "Counter",
    "FifoQueue",
    "GrowSet",
    "KeyValue",
    "Log",
    "Model",
    "ModelError",
    "MultiRegister",
    "Mutex",
    "Register",
    "Report",
    "as_events",
    "check",
    "check_operations",
    "model_named",
    "warm",
]
