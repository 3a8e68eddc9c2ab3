"""Fingerprints against what real runs logged: a healthy run bears none, and a run that met the defect bears its own.

``recorded_logs`` has extracts of runs of 26 to 28 November 2026: of each node's logs the lines that an expression of a
defect might be about, shortened, and of bookies those of some ledgers.  Those of ``bookkeeper-…-healthy`` are ledgers
that were fenced while adds were in flight, and closed where a recovery settled.  ``bookkeeper-4.18.0-raced-healthy``
has ledgers that were closed before that, but not before an entry that a reader had been shown (``shown``: the last one
of each).  ``dledger-0.3.2-disks-healthy`` has bit flips, a power cut and disk errors, without n1: its disk was full
while it led, which it never got over.  ``zookeeper-3.9.4-disks-healthy`` has a full disk, a power cut and disk errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as struct_replace

from harness.judge.known_defects import Defect, known_in, read_defects
from history import Probe, RunFiles
from history.recording import Recording
from history.records.probes import probes_header
from history.records.violations import Violation, violations_of

RECORDED = Path(__file__).with_name("recorded_logs")
DEFECTS = Path(__file__).parents[3] / "suites" / "defects"
FILES = dict.fromkeys(("rocketmq-controller", "rocketmq-dledger", "rocketmq-ha"), "rocketmq")
HEALTHY = sorted(path.stem for path in RECORDED.glob("*-healthy.json"))
#: Runs that met a defect, with it.
MET = [
    ("dledger-0.3.2-disks", "forgotten-term"),
    ("dledger-0.3.2-disks", "half-an-entry-from-a-full-disk"),
    ("dledger-0.3.2-set", "applied-twice"),
    ("zookeeper-3.9.4-power", "first-snapshot-not-synced"),
    ("bookkeeper-4.17.3-closes", "fenced-writer-closes"),
    ("bookkeeper-4.18.0-closes", "fenced-writer-closes"),
    ("bookkeeper-4.17.3-first-add", "two-handles-of-one-ledger"),
    ("bookkeeper-4.18.0-length", "length-of-what-was-left-out"),
    ("rocketmq-dledger-5.3.3-cut", "queues-cut-at-restart"),
    ("rocketmq-dledger-5.2.0-deleted", "queues-deleted-at-restart"),
    ("rocketmq-dledger-5.1.4-tail", "offset-of-the-tail-given-again"),
    ("rocketmq-ha-5.1.1-deposed", "follows-a-deposed-master"),
    ("rocketmq-ha-5.3.3-missed", "cut-at-a-missed-epoch"),
    ("rocketmq-ha-5.5.0-alone", "acknowledges-alone"),
]


@dataclass
class Extract:
    run: RunFiles
    record: dict[str, Any]
    defects: dict[str, Defect] = field(init=False)

    def __post_init__(self) -> None:
        system = self.record["system"]
        defects = read_defects(DEFECTS / f"{FILES.get(system, system)}.toml")
        self.defects = {name: struct_replace(one, versions=()) for name, one in defects.items()}  # marks alone decide

    @property
    def recording(self) -> Recording:
        return Recording(self.run.root)

    @property
    def nodes(self) -> list[str]:
        return list(self.record["logs"])

    def violations(self, kind: str) -> Iterator[Violation]:
        """Every violation of a kind that there could be: of no node, of each, of each object."""
        for place, an_object in enumerate(self.record.get("objects", [""])):
            shown = tuple(self.record.get("shown", ())[place : place + 1])
            for nodes in [(), *((node,) for node in self.nodes)]:
                yield Violation("any", kind, nodes, objects=(an_object,), shown=shown)

    def receipts(self, defect: Defect) -> list[dict[str, Any]]:
        """The faults of the run, and beside them those that the defect asks for, so that its marks alone decide."""
        last = max(receipt["healed"] or 0 for receipt in self.record["receipts"]) if self.record["receipts"] else 0
        wanted = {"state": "installed", "nodes": self.nodes, "healed": last}
        return [*self.record["receipts"], *({"fault": fault, **wanted} for fault in defect.faults)]


@pytest.fixture
def extract(tmp_path: Path, name: str) -> Extract:
    return written(tmp_path, json.loads((RECORDED / f"{name}.json").read_text()))


def written(root: Path, record: dict[str, Any]) -> Extract:
    """Write a run with these logs."""
    run = RunFiles(root)
    header = {"format": "harness-history", "version": 1, "started": record["started"]}
    run.history.write_text(json.dumps(header) + "\n")
    run.plan.write_text(json.dumps({"workload": record["workload"]}))
    with run.probes.open("w") as probes:
        probes.write(probes_header() + "\n")
        for node, committed in record.get("committed", {}).items():
            for time, index in committed:
                probes.write(json.dumps(Probe(round(time * 1e9), node, committed=index).to_json()) + "\n")
    for node, lines in record["logs"].items():
        (run.nodes / node).mkdir(parents=True)
        (run.nodes / node / "server.log").write_text("".join(f"{line}\n" for line in lines))
    return Extract(run, record)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_bears_the_marks_of_no_defect(extract: Extract) -> None:
    """Not even once, because an extract holds few of the lines that are alike."""
    explained = {
        (defect.name, str(violation))
        for defect in (struct_replace(one, times=1) for one in extract.defects.values())
        if defect.lines
        for kind in defect.kinds
        for violation in extract.violations(kind)
        if defect.explains(violation, extract.recording, extract.receipts(defect), defect.kinds)
    }
    assert explained == set()


#: The faults of disks in the suites of each system, and healthy extracts in which they were installed.
DISKS: dict[str, dict[str, str]] = {
    "dledger": {
        "disk-full": "dledger-0.3.2-disks-healthy",
        "disk-error": "dledger-0.3.2-disks-healthy",
        "crash-random-nodes": "dledger-0.3.2-disks-healthy",
        "disk-slow": "dledger-0.3.2-damaged-healthy",
        "file-truncate": "dledger-0.4.0-damaged-healthy",
    },
    "zookeeper": {
        "disk-full": "zookeeper-3.9.4-disks-healthy",
        "disk-error": "zookeeper-3.9.4-disks-healthy",
        "crash-random-nodes": "zookeeper-3.9.4-disks-healthy",
        "disk-slow": "zookeeper-3.9.4-damaged-healthy",
        "file-truncate": "zookeeper-3.9.4-damaged-healthy",
    },
    "bookkeeper": {"disk-full": "bookkeeper-4.18.0-full-healthy", "disk-slow": "bookkeeper-4.18.0-slow-healthy"},
    "rocketmq-controller": {
        "disk-full": "rocketmq-controller-5.2.0-full-healthy",
        "disk-error": "rocketmq-controller-5.3.3-disks-healthy",
        "crash-all": "rocketmq-controller-5.3.3-disks-healthy",
        "disk-slow": "rocketmq-controller-5.3.3-disks-healthy",
        "file-truncate": "rocketmq-controller-5.3.3-damaged-healthy",
    },
    "rocketmq-controller, jraft": {
        "disk-error": "rocketmq-controller-5.3.3-jraft-disks-healthy",
        "disk-slow": "rocketmq-controller-5.3.3-jraft-disks-healthy",
        # Full for a second, so RocksDB's log had room left.
        "disk-full": "rocketmq-controller-5.3.3-jraft-full-healthy",
        # Before the first snapshot.
        "crash-random-nodes": "rocketmq-controller-5.3.3-jraft-cut-healthy",
    },
    # No suite fills the disks of brokers: what the victim stores then differs from the other logs.
    "rocketmq-dledger": {"disk-slow": "rocketmq-dledger-5.4.0-disks-healthy"},
    "rocketmq-ha": {"disk-slow": "rocketmq-ha-5.3.3-cut-healthy"},
}


@pytest.mark.parametrize(
    ("fault", "name"), [(fault, name) for faults in DISKS.values() for fault, name in faults.items()]
)
def test_the_fault_stood_in_the_healthy_run(fault: str, name: str, extract: Extract) -> None:
    assert name in HEALTHY
    assert (fault, "installed") in {(one["fault"], one["state"]) for one in extract.record["receipts"]}


def test_each_system_has_a_healthy_run_in_which_lines_like_the_marks_stand() -> None:
    assert {name.partition("-")[0] for name in HEALTHY} == {
        path.stem for path in DEFECTS.glob("*.toml") if any(one.lines for one in read_defects(path).values())
    }
    lines = {
        name: sum(map(len, json.loads((RECORDED / f"{name}.json").read_text())["logs"].values())) for name in HEALTHY
    }
    assert lines["dledger-0.3.2-healthy"] > 100
    assert lines["bookkeeper-4.18.0-healthy"] > 100


@pytest.mark.parametrize(("name", "defect"), MET, ids=[defect for _, defect in MET])
def test_a_run_that_met_a_defect_bears_its_marks(extract: Extract, defect: str) -> None:
    known = extract.defects[defect]
    mine = [one for one in extract.record["violations"] if one["kind"] in known.kinds]
    assert mine
    for one in mine:
        objects = tuple(extract.record.get("objects", ()))
        violation = Violation(
            one["check"], one["kind"], tuple(one["nodes"]), objects=objects, shown=tuple(one.get("shown", ()))
        )
        found = {other["kind"] for other in extract.record["violations"]}
        assert known.explains(violation, extract.recording, extract.record["receipts"], found), violation


@pytest.mark.parametrize("name", ["bookkeeper-4.18.0-raced-healthy"])
def test_a_ledger_that_was_closed_too_early_is_explained_only_where_a_reader_was_shown_more(extract: Extract) -> None:
    closes, shown = extract.defects["fenced-writer-closes"], extract.record["shown"]
    settled = [19, 5, 15, 30, 4]
    for name, last, end in zip(extract.record["objects"], shown, settled, strict=True):
        explained = [
            closes.explains(
                Violation("ledgers", "read-then-gone", objects=(name,), shown=(entry,)), extract.recording, (), ()
            )
            for entry in (last, last + 1, end, end + 1)
        ]
        assert explained == [False, True, True, False]


@pytest.mark.parametrize("name", ["bookkeeper-4.17.3-closes", "bookkeeper-4.18.0-raced-healthy"])
def test_marks_name_no_defect_of_a_run_without_a_violation(extract: Extract) -> None:
    extract.run.results.write_text(json.dumps({"verdict": "valid", "checks": [], "receipts": []}))
    assert known_in(extract.recording, list(extract.defects.values()), violations_of(extract.recording.results)) == (
        (), (),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["bookkeeper-4.17.3-closes", "bookkeeper-4.17.3-first-add"])
def test_a_mark_of_one_ledger_explains_no_other(extract: Extract) -> None:
    for defect in (one for one in extract.defects.values() if one.lines):
        for kind in defect.kinds:
            other = Violation("ledgers", kind, objects=(extract.record["objects"][0], "4711"))
            assert not defect.explains(other, extract.recording, (), defect.kinds)
            unnamed = Violation("ledgers", kind)
            assert not defect.explains(unnamed, extract.recording, (), defect.kinds)


CUT = [
    "local epoch entries is [EpochEntry{epoch=1, startOffset=0, endOffset=5600}]",
    "master epoch entries is [EpochEntry{epoch=1, startOffset=0, endOffset=5000}, EpochEntry{epoch=4, startOffset=5000",
    "AutoSwitchHAClient - truncate dirty files to 5000",
]
QUEUES = "maxPhyOffsetOfConsumeQueue(5600) >= processOffset({}), truncate dirty logic files"
SLAVE = "AutoSwitchHAClient - " + QUEUES.format(5000)
SENDING = "[Push-n1]Error in EntryDispatcher-n3-n1 writeIndex=472 compareIndex=472"
FULL = "DLedgerException: [code=414,name=DISK_ERROR,desc=] 32777 != 0"
ALONE = "Error happen when change SyncStateSet, broker:harness, newSyncStateSet:[{}], syncStateSetEpoch:3"
OTHER = "Change ha to master success, newMasterEpoch:4, startOffset:5000"
AGAIN = "Change ha to master success, last role is master, newMasterEpoch:4, startOffset:5000"


@pytest.mark.parametrize(
    ("name", "logs", "bears"),
    [
        ("cut-at-a-missed-epoch", {"n1": CUT, "n2": [OTHER]}, False),
        ("cut-at-a-missed-epoch", {"n1": CUT, "n2": [AGAIN]}, True),
        ("cut-at-a-missed-epoch", {"n1": CUT[:2], "n2": [AGAIN, *CUT[2:]]}, False),
        ("queues-cut-at-restart", {"n1": ["dledger " + QUEUES.format(5600)]}, False),
        ("queues-cut-at-restart", {"n1": ["dledger " + QUEUES.format(5000)]}, True),
        ("acknowledges-alone", {"n1": [SLAVE]}, False),
        ("acknowledges-alone", {"n1": [SLAVE, ALONE.format(1)]}, True),
        ("acknowledges-alone", {"n1": [SLAVE, ALONE.format("1, 2")]}, False),
        ("acknowledges-alone", {"n1": [SLAVE], "n2": [ALONE.format(2)]}, False),
        ("entry-lost-on-a-full-disk", {"n3": [SENDING, FULL]}, True),
        ("entry-lost-on-a-full-disk", {"n3": ["[HandleDoAppend] writeIndex=282", FULL], "n2": [SENDING]}, False),
    ],
    ids=["a tail that nobody confirmed", "its master was elected again", "another node is cut", "equal ends",
         "an earlier end", "a deposed master", "the only one in its set", "one of two in its set", "on another node",
         "a leader cannot send", "a follower cannot append"],
)  # fmt: skip
def test_marks_of_brokers_and_lines_of_healthy_ones(
    tmp_path: Path, name: str, logs: dict[str, list[str]], bears: bool
) -> None:
    dated = {node: [f"2026-11-28 03:00:10.000 {line}" for line in lines] for node, lines in logs.items()}
    record = {"system": "rocketmq-ha", "workload": "queue-log", "started": "2026-11-28T03:00:00+00:00", "logs": dated,
              "receipts": []}  # fmt: skip
    extract = written(tmp_path, record)
    defect = extract.defects[name]
    assert defect.explains(Violation("any", defect.kinds[0]), extract.recording, extract.receipts(defect), ()) == bears
