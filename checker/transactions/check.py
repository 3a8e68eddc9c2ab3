"""Report the verdict on transactions in the form that all models share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from checker.core.model import ModelError
from checker.core.options import CheckOptions
from checker.models.transactions import Transactions
from checker.transactions.transaction import ENGINE
from checker.transactions.verdict import Anomaly, IsolationReport, check_columns
from history import Counterexample, KeyVerdict, Operation
from history.readers.transactions import TransactionColumns, columns_of_operations
from history.records.operations import BEFORE, place_of_index
from history.records.verdicts import MAX_COUNTEREXAMPLES, KindCount, OperationRole


def check_isolation(
    history: Sequence[Operation] | TransactionColumns, model: Transactions, options: CheckOptions
) -> KeyVerdict:
    """Decide whether the history satisfies the model's level.

    Raises FormatError for transactions that cannot be judged, and ModelError if another engine is requested.
    """
    if options.engine is not None:
        raise ModelError(f"only the {ENGINE} decides a {model.name}; leave out the engine {options.engine}")
    limits = options.limits()
    columns = (
        history
        if isinstance(history, TransactionColumns)
        else columns_of_operations(history, model.holds, place=_place(history))
    )
    report = check_columns(columns, model.level)
    examples, kinds = _explained(report, model)
    return KeyVerdict(
        columns.operation(0).key if len(columns) else None,
        report.verdict,
        ENGINE,
        report.transactions,
        limits.clock() - limits.started,
        violations=sum(kind.count for kind in kinds),
        kinds=kinds,
        counterexamples=examples if options.proofs else (),
        reason=report.reason,
        levels=report.strongest,
    )


def broken_by(
    columns: TransactionColumns, model: Transactions
) -> tuple[tuple[Counterexample, ...], tuple[KindCount, ...]]:
    """Return why the transactions break the model's level, and how often in each way; nothing if they satisfy it."""
    return _explained(check_columns(columns, model.level), model)


def _explained(
    report: IsolationReport, model: Transactions
) -> tuple[tuple[Counterexample, ...], tuple[KindCount, ...]]:
    anomalies = report.violations
    names = dict.fromkeys(anomaly.name for anomaly in anomalies)
    kinds = (_count(name, number, anomalies) for name, number in report.counts.items() if name in names)
    return tuple(_counterexample(anomaly, model) for anomaly in anomalies[:MAX_COUNTEREXAMPLES]), tuple(kinds)


def _place(history: Sequence[Operation]) -> Callable[[int], str]:
    """Return the names of events by their index, which the transaction of the start has shifted."""
    made = 2 * bool(history and history[0].process == BEFORE)
    return lambda index: "the start" if index < made else place_of_index(index - made)


def _count(name: str, number: int, anomalies: Iterable[Anomaly]) -> KindCount:
    """Count one anomaly, with the times of those occurrences whose transactions are known."""
    times = sorted(max(txn.ended for txn in anomaly.transactions) for anomaly in anomalies if anomaly.name == name)
    return KindCount(name, number, times[0], times[-1]) if times else KindCount(name, number)


def _counterexample(anomaly: Anomaly, model: Transactions) -> Counterexample:
    names = enumerate(anomaly.transactions, start=1)
    roles = tuple(OperationRole(f"T{number}: {model.wording(operation)}") for number, operation in names)
    return Counterexample(
        anomaly.name, anomaly.sentence, anomaly.transactions, roles=roles, dependencies=anomaly.dependencies,
        refutes=anomaly.refutes,
    )  # fmt: skip
