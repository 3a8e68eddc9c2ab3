"""Sentences about elements missing from sets at the end: how many each node's last read lacks, and since what time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from history.codes import OK
from history.columns.operations import Ints, Operations
from history.records.finding import Loss
from history.records.text import and_listed
from reports.analysis.faults import FaultWindow, since_fault, when
from reports.analysis.findings import Drawn
from reports.analysis.node_timeline import SILENT
from reports.story.breaks import Clause
from reports.style.format import number, one_line


class Lost(NamedTuple):
    """Elements that nodes lack: ``text`` and ``clauses`` as of a break, ``onset`` (s), and whether others hold them.

    ``lost_on`` are the nodes that lack elements which others hold; empty if some elements are lost everywhere.
    Reads of ``first`` were the first to lack some.
    """

    text: str
    clauses: tuple[Clause, ...]
    held: str
    onset: float
    lost_on: tuple[str, ...]
    first: str


def lost_elements(drawn: Drawn, losses: Sequence[Loss]) -> Lost:
    """Say what each node lacks and from what time on, in order of time, and whether others' last reads hold it.

    Losses of one node at different moments are listed separately.  ``losses`` must not be empty.
    """
    ordered = sorted(losses, key=lambda loss: loss.seen_ns)
    names = [one_line(loss.node, 40) for loss in ordered]
    first, *others = ordered
    onset = first.seen_ns / 1e9
    whole = {name: sum(loss.lost for loss, of in zip(ordered, names, strict=True) if of == name) for name in names}
    elements = "element" if whole[names[0]] == 1 else "elements"
    some, dated = _dated([loss for loss, name in zip(ordered, names, strict=True) if name == names[0]])
    text = f"{names[0]} lacks {number(whole[names[0]])} acknowledged {elements}, {some}seen {dated}"
    since = since_fault(onset, drawn.windows)
    others_lack, more = [], []
    for place, loss in enumerate(others, 1):
        name, many = names[place], number(whole[names[place]])
        if name in names[:place]:
            # The node's first loss, and when the last was seen, stand beside its total.
            if name in names[place + 1 :]:
                at = loss.seen_ns / 1e9
                sentence = f"{number(loss.lost)} of the {many} that {name} lacks were seen from {at:.1f} s on"
                more.append(Clause((f"; {sentence}",), sentence))
            continue
        some, dated = _dated([loss for loss, of in zip(ordered, names, strict=True) if of == name])
        forms = (f", {name} {many}, {some}{dated}", f", {name} {many}")
        others_lack.append(Clause(forms, f"{name} lacks {many}, {some}seen {dated}{'' if some else ' on'}"))
    alone = f"{names[0]} first lacked some in a read{since[0]}" if since[0] else ""
    read = Clause((f"; {alone}",), alone) if others and alone else Clause(since, alone, dates=True)
    down = drawn.run.notes.attempt_list("missing elements", lambda: _while_down(drawn, losses, ordered))
    total = sum(loss.lost for loss in ordered)
    held = sum(loss.elsewhere for loss in ordered)
    lost_on = tuple(sorted(set(names))) if held == total else ()
    clauses = (*others_lack, *down, *more, read) if down else (*others_lack, read, *more)
    return Lost(text, clauses, _held(total, held), onset, lost_on, names[0])


def _dated(losses: Sequence[Loss]) -> tuple[str, str]:
    """Say how many of a node's missing elements were seen from when on, and by when all; how many is empty if all."""
    first, last = losses[0], losses[-1]
    since = f"from {first.seen_ns / 1e9:.1f} s"
    if first is last:
        return "", since
    return f"{number(first.lost)} ", f"{since}, all by {last.seen_ns / 1e9:.1f} s"


def _while_down(drawn: Drawn, losses: Sequence[Loss], ordered: Sequence[Loss]) -> list[Clause]:
    """Say that all these elements were added while their nodes answered no probe; nothing if that is not proven."""
    faults: dict[str, str] = {}
    for loss in ordered:
        times = _acknowledged(drawn.run.operations, losses, loss)
        under = _down(drawn, loss.node, float(times.min()) / 1e9, float(times.max()) / 1e9) if len(times) else None
        if under is None:
            return []
        faults |= {window.name: window.fault for window in under[-1:]} or {"": ""}
    nodes = {loss.node for loss in ordered}
    if "" in faults:
        text = f"added while {'it' if len(nodes) == 1 else 'they'} answered no probe"
    else:
        names = list(dict.fromkeys(faults.values()))
        kept = next(iter(faults)) if len(faults) == 1 else and_listed(names)
        text = f"added while {kept} kept {'it' if len(nodes) == 1 else 'them'} down"
    # Below, nothing else says when a node with several losses was down.
    return [Clause((f"; {text}",), f"All were {text}" if len(nodes) < len(ordered) else "")]


def _acknowledged(operations: Operations, losses: Sequence[Loss], loss: Loss) -> Ints:
    """Return when the elements of one loss were acknowledged (ns); empty if the operations show another number.

    If a node has several losses, the elements that its earlier reads lacked belong to the earlier ones.
    """
    rows = _lacking(operations, loss.node)
    before = max(
        (other.seen_ns for other in losses if other.node == loss.node and other.seen_ns < loss.seen_ns), default=-1
    )
    times = operations.returned[rows]
    times = times[(times > before) & (times < loss.seen_ns)]
    return times if len(times) == loss.lost else times[:0]


def _held(total: int, held: int) -> str:
    """Say how many of the elements missing on some node are in the last read of another."""
    if held == total:
        them = "it" if total == 1 else "every one of them"
        return f"The last read of another node holds {them}."
    return "No last read holds them." if not held else f"Of these {number(held)} are in the last read of another node."


def history_of(drawn: Drawn, losses: Sequence[Loss]) -> str:
    """Say when the missing elements were acknowledged, and which nodes had shown some of them before."""
    return " ".join(filter(None, (when_added(drawn, losses), had_shown(drawn, losses))))


class Added(NamedTuple):
    """Elements that ``nodes`` lack, acknowledged from ``first`` to ``last`` (s) by the nodes ``by``."""

    nodes: list[str]
    first: float
    last: float
    by: list[str]


def added(operations: Operations, losses: Sequence[Loss]) -> list[Added]:
    """Find when the elements that each node lacks were acknowledged; nodes that lack the same are grouped.

    Leaves out nodes for which the operations show a different number than the check counted, nodes with several losses,
    and runs with several sets.
    """
    alike = dict[tuple[int, ...], list[str]]()
    for loss in sorted(losses, key=lambda loss: loss.seen_ns):
        rows = tuple(_lacking(operations, node := loss.node).tolist())
        if len(rows) == loss.lost and rows:
            alike.setdefault(rows, []).append(node)
    groups = []
    for rows, nodes in alike.items():
        returned = operations.returned[list(rows)]
        by = sorted({name for name in map(operations.node.name, rows) if name})
        groups.append(Added(nodes, float(returned.min()) / 1e9, float(returned.max()) / 1e9, by))
    return groups


def when_added(drawn: Drawn, losses: Sequence[Loss]) -> str:
    """Say when and by which nodes the missing elements were acknowledged, and if the lacking node was down then."""
    parts: list[str] = []
    for nodes, first, last, by in added(drawn.run.operations, losses):
        others = [
            window for window in drawn.windows if window.stands(first, first) and not set(nodes).issubset(window.nodes)
        ]
        since = when(first, others) if others else f"{first:.1f} s"
        lack = f"what {and_listed(nodes)} {'lacks' if len(nodes) == 1 else 'lack'}"
        until = "" if f"{first:.1f}" == f"{last:.1f}" else f"{',' if others else ''} to {last:.1f} s"
        text = f"{lack}{'' if parts else ' was acknowledged'} {'from' if until else 'at'} {since}{until}"
        down = ((node, under) for node in nodes if (under := _down(drawn, node, first, last)) is not None)
        silent = "".join(
            f", when {node} answered no probe{f', under {under[-1].name}' if under else ''}" for node, under in down
        )
        parts.append(f"{text} by {and_listed(by)}{silent}")
    whole = "; ".join(parts)
    return f"{whole[:1].upper()}{whole[1:]}." if whole else ""


def had_shown(drawn: Drawn, losses: Sequence[Loss]) -> str:
    """Say which nodes had shown some of what they lack in earlier reads of their own, and when last.

    Nodes for which the operations show a different number than the check counted are left out, as in :func:`added`.
    """
    operations, parts = drawn.run.operations, []
    for loss in sorted(losses, key=lambda loss: loss.seen_ns):
        rows, node = _lacking(operations, loss.node), one_line(loss.node, 40)
        if len(rows) != loss.lost:
            continue
        lacked = {_element(operations, row) for row in rows.tolist()}
        shown = [(row, held) for row in _reads(operations, loss.node) if (held := _held_by(operations, row) & lacked)]
        if shown:
            number_of, last = len(set().union(*(held for _, held in shown))), operations.returned[shown[-1][0]] / 1e9
            parts.append(
                f"{node} itself had shown {number(number_of)} of what it lacks, for the last time at {last:.1f} s"
            )
    return f"{'; '.join(parts)}." if parts else ""


def _reads(operations: Operations, node: str) -> list[int]:
    """Return the rows of the reads that a node answered, in the order in which they began."""
    answered = operations.which(OK) & (operations.node.codes == operations.node.code(node))
    rows = np.flatnonzero(answered & (operations.f.codes == operations.f.code("read")))
    return [int(row) for row in rows[np.argsort(operations.invoked[rows], kind="stable")]]


def _held_by(operations: Operations, read: int) -> set[str]:
    return {json.dumps(element) for element in json.loads(str(operations.result[read].as_py() or "null")) or ()}


def _element(operations: Operations, add: int) -> str:
    return json.dumps(json.loads(str(operations.value[add].as_py())))


def _lacking(operations: Operations, node: str) -> Ints:
    """Return the rows of the adds that a node's last read lacks although they were acknowledged before it began.

    Empty if there are several sets.
    """
    reads = _reads(operations, node)
    if not reads or (operations.key.codes != operations.key.codes[0]).any():
        return operations.invoke_index[:0]
    held, adds = _held_by(operations, reads[-1]), operations.f.codes == operations.f.code("add")
    before = operations.which(OK) & adds & (operations.returned < operations.invoked[reads[-1]])
    lacking = [row for row in np.flatnonzero(before).tolist() if _element(operations, row) not in held]
    return np.array(lacking, dtype=np.int64)


def _down(drawn: Drawn, node: str, first: float, last: float) -> list[FaultWindow] | None:
    """Return the faults under which a node answered no probe between two moments (s); None if it answered one."""
    timeline = next((candidate for candidate in drawn.timelines if candidate.node == node), None)
    if timeline is None:
        return None
    within = timeline.role[(timeline.time >= first) & (timeline.time <= last)]
    if not len(within) or not bool(np.all(within == SILENT)):
        return None
    return [
        window
        for window in drawn.windows
        if node in window.nodes and window.stands(first, first) and window.stands(last, last)
    ]


def alarm_before(drawn: Drawn, lost: Lost) -> str:
    """Say that a node had logged an alarm before a read showed that it lacks elements; empty if it had not."""
    own = [line for line in drawn.alarm_lines if line.node == lost.first and line.seconds is not None]
    first = min((line.seconds for line in own if line.seconds is not None and line.seconds < lost.onset), default=None)
    return "" if first is None else f"{lost.first}'s own log has an alarm before that read, at {first:.1f} s."
