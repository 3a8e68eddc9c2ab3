"""Conditions on probes, for scripts: ``n2 leads``, ``lag(n4) > 1000``, ``a snapshot was saved``.

::

    condition  = term { "and" term }
    term       = NODE "leads" | "no leader" | "a leader"
               | "a snapshot was" ("saved" | "loaded")            since watching for the condition began
               | "after a heartbeat"                              of the leader, once all else holds and one leads
               | value OPERATOR (NUMBER | value [("+" | "-") NUMBER])
    value      = FIGURE "(" (NODE | "any" | "followers") ")" | "term"
    FIGURE     = lag | term | log_begin | log_end | committed | applied | snapshots_saved | snapshots_loaded
               | "own." NAME                                      a number that only nodes of this system report
    OPERATOR   = > | >= | < | <= | ==

``lag`` is how many entries the furthest node has applied beyond this one.  ``any`` is the maximum over all nodes, and
``followers`` the maximum over all nodes but the leader (there is none without a leader).  Nodes that do not answer have
no figures.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from history import Probe
from history.records.probes import leader_now
from nemesis.core.errors import ScheduleError

Probes: TypeAlias = Mapping[str, Probe]
Test: TypeAlias = Callable[[Probes, Probes], bool]
Value: TypeAlias = Callable[[Probes], float | None]

FIGURES: Final = (
    "lag",
    "term",
    "log_begin",
    "log_end",
    "committed",
    "applied",
    "snapshots_saved",
    "snapshots_loaded",
)
#: A term that probes cannot decide: see :mod:`nemesis.schedule.heartbeats`.
AFTER_HEARTBEAT: Final = "after a heartbeat"
#: Prefix of the name of a figure that only nodes of the system under test report.
OWN: Final = "own."
OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}

_VALUE: Final = r"((?:own\.)?\w+?)\s*(?:\(\s*(\w+)\s*\))?"
_COMPARISON: Final = re.compile(rf"{_VALUE}\s*(>=|<=|==|>|<)\s*(?:(-?\d+)|{_VALUE}(?:\s*([+-])\s*(\d+))?)")


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition.  All its tests must hold; with ``after_heartbeat``, the caller then awaits a heartbeat."""

    text: str
    tests: tuple[Test, ...]
    after_heartbeat: bool = False

    def holds(self, probes: Probes, since: Probes) -> bool:
        """Return whether all tests hold; ``since`` are the probes at the time when watching began."""
        return all(test(probes, since) for test in self.tests)


def parse(text: str, names: Sequence[str], members: Collection[str] = ()) -> Condition:
    """Parse a condition on nodes with these names.  Only ``members`` can lead, or all nodes if it is empty.

    Raises ScheduleError that names the part that is not understood.
    """
    parts, may_lead = [part.strip() for part in re.split(r"\band\b", text)], members or names
    tests = tuple(_term("a leader" if part == AFTER_HEARTBEAT else part, names, may_lead) for part in parts)
    return Condition(text, tests, AFTER_HEARTBEAT in parts)


def _term(part: str, names: Sequence[str], members: Collection[str]) -> Test:
    words = part.split()
    if part == "no leader":
        return lambda probes, _: leader_now(probes, members) is None
    if part == "a leader":
        return lambda probes, _: leader_now(probes, members) is not None
    if len(words) == 2 and words[1] == "leads":
        node = _known(words[0], names)
        return lambda probes, _: leader_now(probes, members) == node
    if words[:3] == ["a", "snapshot", "was"] and words[3:] in (["saved"], ["loaded"]):
        return _grown(f"snapshots_{words[3]}")
    if match := _COMPARISON.fullmatch(part):
        figure, node, sign, number, other, other_node, plus, more = match.groups()
        left, compare = _value(figure, node, names, members), OPERATORS[sign]
        if number is not None:
            return _comparison(left, compare, lambda _: int(number), 0)
        offset = int(more or 0) * (-1 if plus == "-" else 1)
        return _comparison(left, compare, _value(other, other_node, names, members), offset)
    raise ScheduleError(f"{part!r} is not a condition; for example: n2 leads, lag(n4) > 1000, a snapshot was saved")


def _comparison(left: Value, compare: Callable[[float, float], bool], right: Value, offset: int) -> Test:
    def test(probes: Probes, _: Probes) -> bool:
        first, other = left(probes), right(probes)
        return first is not None and other is not None and compare(first, other + offset)

    return test


def _value(figure: str, node: str | None, names: Sequence[str], members: Collection[str]) -> Value:
    """Return a function that computes the greatest of the figures meant, or None while no node has one."""
    if figure not in FIGURES and not figure.startswith(OWN):
        there = f"{', '.join(FIGURES)}, and {OWN}NAME for one of the system's own"
        raise ScheduleError(f"{figure!r} is not a figure of a probe; the figures are {there}")
    if node is None and figure != "term":
        raise ScheduleError(f"{figure} needs a node: {figure}(n1) or {figure}(any)")
    wanted = node if node in (None, "any", "followers") else _known(str(node), names)

    def value(probes: Probes) -> float | None:
        figures = (_figure(figure, name, probes) for name in _asked(wanted, probes, members))
        return max((number for number in figures if number is not None), default=None)

    return value


def _asked(words: str | None, probes: Probes, members: Collection[str]) -> Sequence[str]:
    if words == "followers":
        leader = leader_now(probes, members)
        return [name for name in probes if leader not in (None, name)]
    return list(probes) if words in (None, "any") else [words]


def _figure(figure: str, node: str, probes: Probes) -> float | None:
    probe = probes.get(node)
    if probe is None or not probe.answered:
        return None
    if figure == "lag":
        return max(other.applied for other in probes.values() if other.answered) - probe.applied
    if figure.startswith(OWN):
        own = probe.own.get(figure.removeprefix(OWN))
        return own if isinstance(own, int | float) else None
    return int(getattr(probe, figure))


def _grown(figure: str) -> Test:
    def test(probes: Probes, since: Probes) -> bool:
        pairs = ((_figure(figure, node, probes), _figure(figure, node, since)) for node in probes)
        return any(now is not None and now > (before or 0) for now, before in pairs)

    return test


def _known(node: str, names: Sequence[str]) -> str:
    if node not in names:
        raise ScheduleError(f"no node is called {node!r}; the nodes are {', '.join(names)}")
    return node
