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

From the top down, as a history goes through it; nothing imports upwards:

===================  ====================================================================================
``engines_page``     the table of the engines in the docs, from the registry
``check``            the one verb for whole histories, whatever they come as
``columnar``         histories of millions of operations, in one pass where that is possible
``monitor``          the same question while the run goes on, event by event
``per_key``          one object, or a history key by key: verdict, proof, counterexamples
``explain``          a small core as one true sentence, a drawing, a report
``counterexamples``  all violations of an object, each cut down to the operations that show it
``dispatch``         which engine decides: by the model and by the history itself
``warmup``           compiles or loads the kernels, so that the first check is fast, and knows whether that was done
``engines``          one algorithm a kind of object, each beside the one by columns
``search``           the searches, which decide any model: just-in-time, compiled, and WGL
``kernels``          compiled code (numba) and nothing else
``models``           what objects are, and their names
``core``             what all of these speak: the model, calls, results, intervals, the definition, words
===================  ====================================================================================
"""

from checker.check import as_events, check
from checker.core.model import ANY, ILLEGAL, UNKNOWN, CasRegister, Model, ModelError, Register
from checker.core.result import CertificateError, Report
from checker.models.objects import Counter, FifoQueue, GrowSet, KeyValue, Log, MultiRegister, Mutex
from checker.models.registry import MODELS, model_named
from checker.per_key import check_operations
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
