"""Decide which isolation levels a history of transactions satisfies, and show a shortest cycle for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from checker.kernels.transaction_loops import PROCESS, REALTIME
from checker.models.levels import as_strong, holding, level_named, strongest, weakest_refuted
from checker.transactions.anomalies import Analysis, Refutation
from checker.transactions.graph import FoundCycle, cycles_of
from checker.transactions.list_append import ListAppendGraph
from checker.transactions.rw_register import RwRegisterGraph
from history import Operation, Verdict
from history.codes import OK
from history.readers.transactions import TransactionColumns
from history.readers.transactions.columns import DEFAULT_LEVEL
from history.records.verdicts import Dependency

_ANALYSES: Final[Mapping[str, Callable[[TransactionColumns], Analysis]]] = {
    "list-append": ListAppendGraph, "rw-register": RwRegisterGraph,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Transactions that cannot all have happened as recorded at the levels that the anomaly refutes.

    ``refutes`` names the weakest of these levels.  In a cycle, each transaction comes before the next one, and the
    last before the first; ``dependencies`` say why.  ``transactions`` are T1, T2, … of the sentences.
    """

    name: str
    refutes: tuple[str, ...]
    transactions: tuple[Operation, ...]
    dependencies: tuple[Dependency, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class IsolationReport:
    """Verdict on the requested ``level``, and all levels that the history satisfies, ``holds``.

    ``counts`` has the number of anomalies of each name, and ``anomalies`` has examples of each.  Examples that
    refute the level come first, those with the fewest transactions before the others.  ``reason`` says why a
    verdict is unknown.
    """

    level: str
    verdict: Verdict
    holds: tuple[str, ...]
    counts: dict[str, int]
    anomalies: tuple[Anomaly, ...]
    transactions: int
    reason: str | None = None

    @property
    def strongest(self) -> tuple[str, ...]:
        """The strongest levels that hold, without those that another one of them includes."""
        return strongest(self.holds)

    @property
    def violations(self) -> tuple[Anomaly, ...]:
        """Anomalies that refute the level."""
        return tuple(anomaly for anomaly in self.anomalies if refutes(anomaly, self.level))


def refutes(anomaly: Anomaly, level: str) -> bool:
    """Return whether the anomaly refutes this level."""
    return any(level in as_strong(weakest) for weakest in anomaly.refutes)


def check_columns(columns: TransactionColumns, level: str = DEFAULT_LEVEL) -> IsolationReport:
    """Decide which levels the transactions satisfy.

    Raises FormatError for transactions that cannot be judged, and ModelError for an unknown level.
    """
    wanted = level_named(level)
    analysis = _ANALYSES[columns.holds](columns)
    cycles, counts = cycles_of(analysis.graph)
    in_doubt = {cycle.name for cycle in cycles if cycle.in_doubt}
    everything = {**analysis.counts, **counts}
    refuted = [weakest for name in everything for weakest in weakest_refuted(name, in_doubt=name in in_doubt)]
    holds = holding(refuted)
    anomalies = [_contradiction(contradiction, columns) for contradiction in analysis.contradictions]
    anomalies += [_cycle(cycle, analysis, columns) for cycle in cycles]
    anomalies.sort(key=lambda anomaly: (not refutes(anomaly, wanted), len(anomaly.transactions)))
    verdict: Verdict = "valid" if wanted in holds else "invalid"
    reason = None
    if verdict == "valid" and not (columns.outcome == OK).any():
        verdict, reason = "unknown", "no transaction certainly took effect, so nothing was proven"
    return IsolationReport(wanted, verdict, holds, everything, tuple(anomalies), len(columns), reason)


def _contradiction(refutation: Refutation, columns: TransactionColumns) -> Anomaly:
    rows = tuple(columns.operation(row) for row in refutation.rows)
    return Anomaly(refutation.name, weakest_refuted(refutation.name), rows, (), f"{refutation.sentence}.")


def _cycle(cycle: FoundCycle, analysis: Analysis, columns: TransactionColumns) -> Anomaly:
    """Explain the cycle in words, starting from the transaction that was invoked first.

    The order of a process, and real time, may lead over any number of transactions; those in between are left out.
    """
    real = len(columns)
    between = {
        place for place, kind in enumerate(cycle.kinds)
        if cycle.nodes[place] >= real or (kind in (PROCESS, REALTIME) and kind == cycle.kinds[place - 1])
    }  # fmt: skip
    start = min(set(range(len(cycle.nodes))) - between, key=lambda place: cycle.nodes[place])
    nodes = cycle.nodes[start:] + cycle.nodes[:start]
    kinds = cycle.kinds[start:] + cycle.kinds[:start]
    places = [*sorted((place - start) % len(nodes) for place in set(range(len(nodes))) - between), len(nodes)]
    rows = [nodes[place] for place in places[:-1]]
    dependencies = []
    for source, (here, after) in enumerate(pairwise(places)):
        target = (source + 1) % len(rows)
        reason = analysis.dependency(rows[source], rows[target], kinds[here:after], nodes[here + 1 : after])
        kind, key, text, steps = reason
        ends = zip(steps, (rows[source], rows[target]), strict=False)
        proving = tuple(int(step - columns.first[row]) for step, row in ends)
        sentence = text.replace("{0}", f"T{source + 1}").replace("{1}", f"T{target + 1}")
        dependencies.append(Dependency(source, target, kind, key, sentence, proving))
    sentences = "; ".join(dependency.sentence for dependency in dependencies)
    return Anomaly(
        cycle.name,
        weakest_refuted(cycle.name, in_doubt=cycle.in_doubt),
        tuple(columns.operation(row) for row in rows),
        tuple(dependencies),
        f"{sentences}: so {'neither' if len(rows) == 2 else 'none of them'} can come first.",
    )
