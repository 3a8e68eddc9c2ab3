"""The check of recovery in words: what it requires, what came back, and what did not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from history.records.finding import BeyondLog, ShortLeader
from history.records.indexes import index_text
from history.records.recovery import (
    CHANGES,
    SLACK_S,
    HarnessCause,
    Reason,
    Recovery,
    RecoveryEvent,
    Rule,
    Undecidable,
    Want,
)
from history.records.text import and_listed
from reports.words.of_damage import file_text
from reports.words.of_nodes import beyond_text, short_leader_text

CUT_OFF: Final = "the run ended too early to tell"
_REQUIRED: Final[Mapping[Rule, str]] = {
    "indexes": "every kind of operation succeeds and every node's applied index reaches what was committed then",
    "own": "every kind of operation succeeds and every node has caught up, by the system's own rule",
    "operations": "every kind of operation succeeds",
}
_OF_NODES: Final = ", and every node serves reads and changes to its own clients"
_SINCE: Final[Mapping[RecoveryEvent, str]] = {
    "heal": "last heal",
    "attempt": "last attempt to heal",
    "load": "end of the load",
}
_EVENTS: Final[Mapping[RecoveryEvent, str]] = {
    "heal": "the heal",
    "attempt": "the attempt to heal",
    "load": "the load",
    "restart": "the restart",
}
_UNDECIDABLE: Final[Mapping[Undecidable, str]] = {
    "nothing committed": "no node ever reported a commit index: there is nothing to reach",
    "no answer": "no node ever answered a probe",
    "rule failed": "the system's own recovery rule failed",
}
_REASONS: Final[Mapping[Reason, str]] = {
    "unasked": "not requested again",
    "never": "never succeeded, so there is nothing to recover to",
    "undeclared": "not served again, and the system does not declare whether every node serves its own clients "
    "(every_node_serves)",
    "damaged": "not served again, perhaps because of the file that we damaged",
    "briefly": "requested without success, but for less than the whole recovery time",
}


def required_text(event: RecoveryEvent, rule: Rule, limit: float, *, by_clients: bool) -> str:
    """Return what the check requires within the ``limit`` (s)."""
    return f"within {limit:g} s of the {_SINCE[event]} {_REQUIRED[rule]}{_OF_NODES if by_clients else ''}"


def unhealed_text(left: Iterable[str]) -> str:
    """Return text about faults that are not healed."""
    return f"could not be healed by the harness: {'; '.join(left)}"


def restart_text(why: str) -> str:
    """Return text about a system that did not serve after the restart at the end."""
    return f"the servers did not start again after the restart at the end: {why}"


def _index(recovery: Recovery, index: int) -> str:
    return index_text(index, recovery.epoch_bits)


def recovery_text(recovery: Recovery) -> str:
    """Return the finding as text, such as "n1 and n3 stuck at 2465 and 2470 of 11924".

    The text gives what was committed at the heal and by the end, because tables and charts compare a node with
    those.
    """
    if recovery.rule == "own":
        return _own_text(recovery)
    parts = []
    silent = [node for node in recovery.late_nodes if recovery.applied[node] is None and node not in recovery.silent]
    empty = [node for node in recovery.late_nodes if recovery.applied[node] == -1]
    stuck = {node: index for node in recovery.late_nodes if (index := recovery.applied[node]) not in (None, -1)}
    if stuck:
        indexes = and_listed(_index(recovery, applied) for applied in dict.fromkeys(stuck.values()))
        later = f" ({_index(recovery, recovery.committed)} by the end)" if recovery.committed > recovery.target else ""
        parts.append(f"{and_listed(stuck)} stuck at {indexes} of {_index(recovery, recovery.target)}{later}")
    if empty:
        parts.append(f"{and_listed(empty)} applied nothing of {_index(recovery, recovery.target)}")
    if silent:
        parts.append(f"{and_listed(silent)} silent since {_EVENTS[recovery.event]}")
    return "; ".join([*parts, *_silent_before(recovery), *_unserved(recovery)])


def _own_text(recovery: Recovery) -> str:
    parts = []
    if recovery.together is None:
        parts.append(f"{and_listed(recovery.late_nodes) or 'the nodes together'} did not catch up")
    return "; ".join([*parts, *_silent_before(recovery), *_unserved(recovery)])


def _unserved(recovery: Recovery) -> list[str]:
    """Say which services clients never got again; single nodes are named only if the cluster itself serves."""
    kinds = [kind for kind, node in recovery.unserved if node is None]
    if kinds:
        named = [kind for kind in kinds if kind != CHANGES] or ["change"]
        return [f"no {' and no '.join(named)} succeeded after {_EVENTS[recovery.event]}"]
    return [f"{wants_text(recovery.unserved)} not served after {_EVENTS[recovery.event]}"] if recovery.unserved else []


def _silent_before(recovery: Recovery) -> list[str]:
    """Say from what time on the nodes that are behind have been silent, if they were silent before the heal."""
    since = {node: recovery.silent[node] for node in recovery.late_nodes if node in recovery.silent}
    never = [node for node, moment in since.items() if moment is None]
    dated = {node: f"{moment / 1e9:.1f}" for node, moment in since.items() if moment is not None}
    before = f"before {_EVENTS[recovery.event]}"
    gone = [f"{and_listed(dated)} silent since {and_listed(dated.values())} s, {before}"] if dated else []
    return gone + ([f"{and_listed(never)} never answered a probe"] if never else [])


def reached_text(recovery: Recovery) -> str:
    """Say what was reached and when, such as "all nodes at 40, 3.1 s after the heal".

    May be called only if recovery is complete.
    """
    assert recovery.seconds is not None
    texts = {"own": "all nodes caught up", "operations": "every kind of operation succeeded again"}
    without = f", of which {and_listed(recovery.logless)} without a log" if recovery.logless else ""
    done = texts.get(recovery.rule, f"all nodes at {_index(recovery, recovery.target)}{without}")
    reached = f"{done}, {recovery.seconds:.1f} s after {_EVENTS[recovery.event]}"
    return reached if recovery.event != "load" else f"no fault was injected; {reached.replace(' again', '')}"


def open_texts(*recoveries: Recovery) -> list[str]:
    """Return the reasons why not everything could be observed, each once."""
    return list(dict.fromkeys(why for recovery in recoveries for why in _open(recovery)))


def _open(recovery: Recovery) -> list[str]:
    nodes = (
        [_UNDECIDABLE[recovery.undecidable] + (f": {recovery.error}" if recovery.error else "")]
        if recovery.undecidable
        else []
    )
    clients = "; ".join(f"{wants_text(left)} {_REASONS[reason]}" for reason, left in recovery.unproven)
    return [*nodes, clients] if clients else nodes


def failure_text(failed: Recovery, heal: Recovery, load: Recovery, limit: float) -> str:
    """Say what did not come back within the ``limit`` (s), since the heal or since the load."""
    if heal.failed:
        after = "after all servers were restarted " if heal.event == "restart" else ""
        return after + recovery_text(heal) + _late(heal, limit)
    if load.failed:
        before = f"{reached_text(heal)}, but " if heal.seconds is not None and not heal.open else ""
        return f"{before}after the load {recovery_text(load)}"
    if not (left := open_texts(heal, load)):
        return time_text(heal, load, limit)
    event = "the load" if failed is load else _EVENTS[heal.event]
    if failed.service_took > limit + SLACK_S:
        late = f"operations succeeded again only {failed.service_took:.1f} s after clients requested them"
    else:
        late = f"the nodes caught up only {failed.took:.1f} s after {event}"
    return "; ".join([late, *left])


def _late(heal: Recovery, limit: float) -> str:
    """If nodes are missing, say whether the other nodes, too, served again only after the limit."""
    if heal.served_again is None or heal.service_took <= limit + SLACK_S:
        return ""
    took = (heal.served_again - heal.healed_at) / 1e9
    return f"; operations succeeded again only {took:.1f} s after {_EVENTS[heal.event]}"


def time_text(heal: Recovery, load: Recovery, limit: float) -> str:
    """Say how long a complete recovery took."""
    assert heal.seconds is not None
    assert load.seconds is not None
    text, late = reached_text(heal), max(heal.took, load.took)
    if load.seconds > max(heal.seconds, limit):
        at = f"at {_index(load, load.target)} " if load.rule == "indexes" else ""
        text += f", {'but' if late > limit + SLACK_S else 'and'} {at}only {load.seconds:.1f} s after the load"
    if limit < late <= limit + SLACK_S:
        text += f", which counts as within {limit:g} s: probes report up to {SLACK_S:g} s late"
    return text


def refusals_text(refused: Iterable[tuple[str, str, str]]) -> str:
    """Name the nodes, each with kind and name of a damaged file on which it did not start; appended to other text."""
    files = dict.fromkeys((node, file_text(kind, file)) for node, kind, file in refused)
    return "".join(f"; {node} did not start again with {file}, which is allowed" for node, file in files)


def cause_text(cause: HarnessCause, limit: float) -> str:
    """Say why the harness may have missed a recovery within the ``limit`` (s)."""
    match cause.kind:
        case "unseen":
            return f"the harness probed no node for {cause.seconds:.1f} s of that time"
        case "unasked":
            return f"the harness never probed {and_listed(cause.nodes)} after the heal"
        case "unreadable":
            return f"{and_listed(cause.nodes)} answered probes with {cause.failure}"
        case "failed":
            return f"the harness failed ({cause.failure})"
        case "damaged":
            return f"injected faults damaged files of {and_listed(cause.nodes)}, without which no quorum is left"
        case "stalled":
            return f"the harness was awake for only {cause.seconds:.1f} s of the {limit:g} s"


def lost_text(lost: Mapping[str, ShortLeader | BeyondLog], whole: Iterable[str], observed: str) -> str:
    """Name the nodes that lost committed entries, then what was ``observed``, then the nodes with ``whole`` logs."""
    texts = [
        short_leader_text(moment) if isinstance(moment, ShortLeader) else beyond_text(moment)
        for moment in lost.values()
    ]
    held = f" with whole logs: {names}" if (names := and_listed(whole)) else ""
    return "; ".join([*texts, observed]) + held


def wants_text(wants: Iterable[Want]) -> str:
    """Return text such as "reads and changes by n3's own clients"; kinds go by their names."""
    by_node: dict[str | None, list[str]] = {}
    for kind, node in wants:
        by_node.setdefault(node, []).append(kind)
    sides: dict[str, list[str]] = {}
    for node, whats in by_node.items():
        sides.setdefault(and_listed(whats), []).append(node or "")
    return "; ".join(
        f"{kind} by {and_listed(nodes)}'s own clients" if nodes != [""] else kind for kind, nodes in sides.items()
    )
