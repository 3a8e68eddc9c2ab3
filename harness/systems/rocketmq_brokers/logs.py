"""Compare the bytes of the commit logs after a run: what two replicas have in common must be the same.

A slave of the HA system copies the master's bytes, and DLedger's entries are the same on every node.  So the files are
equal up to the smallest end that the compared replicas reported last.  In the HA system, only brokers with the
master's epoch are compared: any other may still have a tail that it must cut.  On DLedger, the ends are committed.
Nodes on which a fault damaged files are left out.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from harness.systems.api import Evidence
from harness.systems.rocketmq_brokers.brokers import STORE
from harness.systems.rocketmq_brokers.probes import END, EPOCH
from history import Check, Probe
from history.records.finding import Finding, Skipped
from history.records.text import and_listed

NAME: Final = "logs"
KIND: Final = "logs-differ"
MEANS: Final = "two replicas have different bytes at one position of the commit log, below the ends of both"
#: At most this many bytes of each log are compared: far more than a run writes.
MOST: Final = 256 << 20
_ASKED: Final = "the commit logs of all replicas are the same, byte by byte, up to the smallest end"
_FILE: Final = re.compile(rf"{STORE}/(?:commitlog|dledger-[^/]+/data)/(\d{{20}})")


def logs_on_dledger(evidence: Evidence) -> Check:
    """Check that the committed parts of the logs are equal."""
    return _compared(evidence, lambda last: {node: probe.committed for node, probe in last.items()})


def logs_of_ha(evidence: Evidence) -> Check:
    """Check that the logs of the master, and of the slaves that have its epoch, are equal."""
    return _compared(evidence, _with_masters_epoch)


def _with_masters_epoch(last: Mapping[str, Probe]) -> dict[str, int]:
    known = {node: probe for node, probe in last.items() if END in probe.own}
    masters = [probe.own[EPOCH] for probe in known.values() if probe.role == "leader"]
    if len(masters) != 1:
        return {}
    return {node: int(probe.own[END]) for node, probe in known.items() if probe.own[EPOCH] == masters[0]}


def _compared(evidence: Evidence, ends_of: Callable[[Mapping[str, Probe]], Mapping[str, int]]) -> Check:
    damaged = {node for one in evidence.receipts if one.fault.startswith("file-") for node in one.nodes}
    compared = {*evidence.recovered} - damaged
    last = {probe.node: probe for probe in evidence.probes if probe.answered and probe.node in compared}
    ends = ends_of(last)
    limit = min([MOST, *ends.values()])
    packed = {node: evidence.files / node / "store.tar.gz" for node in ends} if evidence.files is not None else {}
    read = {node: text for node, path in packed.items() if (text := log_in(path, limit)) is not None}
    if len(read) < 2:
        why = "fewer than two replicas have caught up and left their logs"
        return Check(NAME, "check", "valid", _ASKED, why, (Skipped(check=NAME, why=why),))
    first, *others = read
    for node in others:
        if (place := differs_at(read[first], read[node])) is not None:
            seen = f"{first} and {node} have different bytes at {place} of {limit}"
            found = Finding(check=NAME, kind=KIND, nodes=(first, node))
            return Check(NAME, "check", "invalid", _ASKED, seen, (found,), words={KIND: MEANS})
    return Check(NAME, "check", "valid", _ASKED, f"the same {limit} bytes on {and_listed(list(read))}")


def log_in(path: Path, limit: int) -> bytes | None:
    """Return the beginning of the commit log in a packed store, or None if it is not there as a whole."""
    parts: dict[int, bytes] = {}
    try:
        with tarfile.open(path, "r|gz") as archive:
            for member in archive:
                name = _FILE.fullmatch(member.name)
                if name and (begin := int(name[1])) < limit and (file := archive.extractfile(member)) is not None:
                    parts[begin] = file.read(limit - begin)
    except (OSError, EOFError, tarfile.TarError):
        return None
    whole = bytearray()
    for begin in sorted(parts):
        if begin != len(whole):
            return None
        whole += parts[begin]
    return bytes(whole) if len(whole) >= limit else None


def differs_at(one: bytes, other: bytes) -> int | None:
    """Return the first place at which two texts of one length differ."""
    if one == other:
        return None
    return next(place for place, (mine, its) in enumerate(zip(one, other, strict=True)) if mine != its)
