"""Receipts: records of what faults did, with proof.

The nemesis writes its receipts into the history as events of the process ``"nemesis"``.  Before it sends the first
command it writes an ``invoke`` that says what it will do to which nodes.  A completion with the receipt follows:
``ok`` for installed, ``fail`` for skipped, ``info`` for indeterminate.  ``value["action"]`` is ``inject`` or ``heal``,
and ``value["id"]`` ties the four events of one fault together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from history.errors import FormatError
from history.records.events import NEMESIS, Event, line_of_event
from history.schema import Int64, convert

FaultState: TypeAlias = Literal["installed", "skipped", "indeterminate"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """One fault from its start to its healing.  Times are nanoseconds since the run's start.

    ``started`` is just before the first command was sent, and ``stood`` is when the last one returned.  For a fault
    that is over by then, such as a rolling restart, ``stood`` equals ``started``.  ``heal_started`` and ``healed`` are
    the same for healing, or None if it never happened.  ``targets`` is the fault's aim as JSON: nodes, and for a
    partition the grudge (node -> the nodes whose packets it drops).  ``witness`` is evidence of the effect other than
    the command's own exit code; a fault cannot be ``installed`` without it.  A fault is indeterminate if its healing
    reports that it had ``lapsed``, that is, ended early by itself.  ``family`` and ``summary`` come from the fault;
    older recordings lack them.
    """

    id: int
    fault: str
    state: FaultState
    started: int
    nodes: tuple[str, ...] = ()
    targets: dict[str, Any] = field(default_factory=dict)
    leader: str | None = None
    stood: int | None = None
    heal_started: int | None = None
    healed: int | None = None
    reason: str | None = None
    witness: dict[str, Any] = field(default_factory=dict)
    family: str = ""
    summary: str = ""

    def __post_init__(self) -> None:
        # Checked in the type, so that no code path can count a fault without evidence.
        if self.state == "installed" and not self.witness:
            raise ValueError(f"{self.fault} cannot be installed without a witness")

    def to_json(self) -> dict[str, Any]:
        record = {name: getattr(self, name) for name in self.__slots__}
        record["nodes"] = list(self.nodes)
        return record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Receipt:
        known = {name: record[name] for name in cls.__slots__ if name in record}
        return cls(**{**known, "nodes": tuple(known.get("nodes", ()))})


_Duration: TypeAlias = Annotated[float, Meta(ge=0, le=1e12)]


class _Targets(Struct, frozen=True):
    """The parts of a fault's targets that readers rely on."""

    grudge: dict[str, list[str]] = {}
    reserved: list[str] = []


class _Witness(Struct, frozen=True):
    """The parts of a witness that readers rely on; times are in ms."""

    stood_ms: _Duration | None = None
    lasted_ms: _Duration | None = None
    pids_gone: dict[str, Any] | list[str] = {}
    ended: dict[str, Any] | list[str] = {}
    damaged: dict[str, dict[str, Any]] = {}


class _Value(Struct, frozen=True):
    """The parts of a nemesis event's value that readers rely on."""

    id: Int64
    action: str = ""
    nodes: list[str] = []
    targets: _Targets = _Targets()
    leader: str | None = None
    family: str = ""
    summary: str = ""
    witness: _Witness = _Witness()
    reason: str | None = None


def receipts_of(events: Iterable[Event]) -> list[Receipt]:
    """Collect the receipts from a history's nemesis events, in the order in which the faults started.

    A fault whose injection never completed (the harness was killed) is indeterminate.  Raises FormatError with the line
    of an event that our nemesis would not write.
    """
    receipts: dict[int, Receipt] = {}
    for event in events:
        if event.process == NEMESIS and isinstance(event.value, dict) and "id" in event.value:
            try:
                # JSON permits half of a surrogate pair, which no text of a Struct may hold.
                text = json.dumps(event.value, ensure_ascii=False).encode("utf-8", "replace")
                number = convert(json.loads(text), _Value).id
                receipts[number] = _advance(receipts.get(number), event)
            except ValueError as error:
                raise FormatError("history.jsonl", line_of_event(event.index), f"not a fault: {error}") from None
    return list(receipts.values())


def _advance(receipt: Receipt | None, event: Event) -> Receipt:
    value = event.value
    if receipt is None:
        receipt = Receipt(
            id=value["id"],
            fault=event.f,
            # Until a completion says otherwise.  If the harness is killed now, the fault may be active.
            state="indeterminate",
            started=event.time,
            nodes=tuple(value.get("nodes", ())),
            targets=value.get("targets", {}),
            leader=value.get("leader"),
            family=value.get("family", ""),
            summary=value.get("summary", ""),
            reason="the injection never completed",
        )
    if value.get("action") == "heal":
        if event.type == "invoke":
            # Of several attempts the first counts, because from then on some nodes may be healed.
            return replace(receipt, heal_started=event.time if receipt.heal_started is None else receipt.heal_started)
        witness = {**receipt.witness, **value.get("witness", {})}
        receipt = replace(receipt, healed=event.time if event.type == "ok" else None, witness=witness)
        if receipt.state == "installed" and "lapsed" in witness:
            return replace(receipt, state="indeterminate", reason=str(witness["lapsed"]))
        return receipt
    if event.type == "invoke":
        return receipt
    witness = value.get("witness", {})
    took_ms = witness.get("stood_ms")
    states: dict[str, FaultState] = {"ok": "installed", "fail": "skipped", "info": "indeterminate"}
    return replace(
        receipt,
        state=states[event.type],
        # The completion is recorded once there is a witness, possibly seconds after the fault was in place.
        stood=event.time if took_ms is None else min(event.time, receipt.started + round(took_ms * 1e6)),
        witness=witness,
        reason=value.get("reason"),
    )
