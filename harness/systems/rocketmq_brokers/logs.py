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
from harness.systems.rocketmq_brokers.words import (
    EMPTY_LOG,
    FEW_LOGS,
    LOG_KINDS,
    REQUIRED,
    LogsDiffer,
    logs_differ,
    logs_seen,
    same_logs,
)
from history import Check, Probe
from history.records.finding import Skipped

NAME: Final = "logs"
#: At most this many bytes of each log are compared: far more than a run writes.
MOST: Final = 256 << 20
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
    if len(read) < 2 or limit <= 0:
        why = FEW_LOGS if len(read) < 2 else EMPTY_LOG
        skipped = Skipped(check=NAME, why=why)
        return Check(NAME, "check", "valid", REQUIRED[NAME], logs_seen(why, missing), (skipped,))
    leaders = [node for node in read if last[node].role == "leader"]
    one_leads = len(leaders) == 1
    first = leaders[0] if one_leads else next(iter(read))
    findings = [
        LogsDiffer(nodes=(node,) if one_leads else (first, node), place=place, against=first)
        for node in read
        if (place := differs_at(read[first], read[node])) is not None
    ]
    if findings:
        summary = logs_seen("; ".join(logs_differ(one, limit) for one in findings), missing)
        return Check(NAME, "check", "invalid", REQUIRED[NAME], summary, tuple(findings), words=LOG_KINDS)
    return Check(NAME, "check", "valid", REQUIRED[NAME], logs_seen(same_logs(limit, list(read)), missing))


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


def differs_at(first: bytes, other: bytes) -> int | None:
    """Return the first position at which two byte strings of equal length differ."""
    if first == other:
        return None
    return next(place for place, (mine, its) in enumerate(zip(first, other, strict=True)) if mine != its)
