"""Compare the bytes of the commit logs after a run: what two replicas have in common must be the same.

A slave of the HA system copies the master's bytes, and DLedger's entries are the same on every node.  So the files are
equal up to the smallest end that the compared replicas reported last.  In the HA system, only brokers with the
master's epoch are compared: any other may still have a tail that it must cut.  On DLedger, the ends are committed.
Nodes whose files a fault damaged, or whose unsynced writes it lost, are left out: brokers sync in the background.

A replica is compared with the leader, and a finding names the replica alone.  Without a leader, it names both.
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
#: How the names of the faults begin that damage files or lose writes.
_DAMAGE: Final = ("file-", "crash-", "disk-error")
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
    struck = [one for one in evidence.receipts if one.state != "skipped" and one.fault.startswith(_DAMAGE)]
    damaged = {node for one in struck for node in one.nodes}
    compared = {*evidence.recovered} - damaged
    last = {probe.node: probe for probe in evidence.probes if probe.answered and probe.node in compared}
    ends = ends_of(last)
    limit = min([MOST, *ends.values()])
    packed = {node: evidence.files / node / "store.tar.gz" for node in ends} if evidence.files is not None else {}
    read = {node: text for node, path in packed.items() if (text := log_in(path, limit)) is not None}
    missing = [node for node in evidence.nodes if node not in read]
    left_out = f"; {and_listed(missing)} not compared" if missing else ""
    if len(read) < 2 or limit <= 0:
        few = "fewer than two replicas caught up and left a log behind"
        why = few if len(read) < 2 else "a replica reported an empty log"
        return Check(NAME, "check", "valid", _ASKED, why + left_out, (Skipped(check=NAME, why=why),))
    leaders = [node for node in read if last[node].role == "leader"]
    one_leads = len(leaders) == 1
    first = leaders[0] if one_leads else next(iter(read))
    wrong, findings = [], []
    for node in read:
        if (place := differs_at(read[first], read[node])) is not None:
            wrong.append(f"{first} and {node} have different bytes at {place} of {limit}")
            findings.append(Finding(check=NAME, kind=KIND, nodes=(node,) if one_leads else (first, node)))
    if findings:
        seen = "; ".join(wrong) + left_out
        return Check(NAME, "check", "invalid", _ASKED, seen, tuple(findings), words={KIND: MEANS})
    return Check(NAME, "check", "valid", _ASKED, f"the same {limit} bytes on {and_listed(list(read))}{left_out}")


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
    """Return the first position at which two byte strings of equal length differ."""
    if one == other:
        return None
    return next(place for place, (mine, its) in enumerate(zip(one, other, strict=True)) if mine != its)
