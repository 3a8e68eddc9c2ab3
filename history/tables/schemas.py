"""The Arrow schemas of the Parquet tables: names, units and nullability.  Times are nanoseconds since the run's start.

Lists, maps and calendar times use Arrow's own types.  Columns that would need a union hold JSON text instead: the keys,
values and results of operations (any JSON), and whole records that are kept for programs (``details``).
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

TABLES_VERSION: Final = 5
RUNS_VERSION: Final = 6
TRENDS_VERSION: Final = 4

#: How the rows of ``windows`` are split, in addition to second, function and outcome.
SPLITS: Final = ("all", "key", "key+node", "node")


_TEXTS: Final = pa.list_(pa.string())
_BUCKETS: Final = pa.list_(pa.list_(pa.int64()))
_TIMES: Final = pa.list_(pa.float64())
#: UTC, but stored without a zone: the result of a query must not depend on the reader's time zone.
_UTC: Final = pa.timestamp("us")


def _field(name: str, kind: pa.DataType, meaning: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"meaning": meaning})


OPERATIONS: Final = pa.schema(
    [
        _field("invoke_index", pa.int64(), "index of the invocation in history.jsonl"),
        _field("return_index", pa.int64(), "index of the completion; null if there was none", nullable=True),
        _field("process", pa.int64(), "the client's process number"),
        _field("f", pa.string(), "read, write, cas, …"),
        _field("key", pa.string(), "the object's key, as JSON; null if it has none", nullable=True),
        _field("value", pa.string(), "argument of the request, as JSON"),
        _field("result", pa.string(), "answer, as JSON; null unless ok", nullable=True),
        _field("outcome", pa.string(), "ok, fail or info"),
        _field("invoked", pa.int64(), "ns"),
        _field("returned", pa.int64(), "ns; null if there was no completion", nullable=True),
        _field("node", pa.string(), "the node that answered, or the last one that was tried", nullable=True),
        _field("error", pa.string(), "code and text of the error of a fail or info", nullable=True),
        _field("phase", pa.string(), "warm-up, main or final", nullable=True),
        _field("intended", pa.int64(), "ns, when it was due (not after `invoked`); null if unknown", nullable=True),
    ]
)
#: The columns of operations in counterexamples.  They are fixed, because a struct cannot grow as a table can.
_CORE: Final = [field for field in OPERATIONS if field.name != "intended"]

VERDICTS: Final = pa.schema(
    [
        _field("key", pa.string(), "the object's key, as JSON; null if it has none", nullable=True),
        _field("verdict", pa.string(), "valid, invalid or unknown"),
        _field("engine", pa.string(), "the algorithm that decided the verdict"),
        _field("operations", pa.int64(), "number of operations checked"),
        _field("violations", pa.int64(), "number of violations found"),
        _field("seconds", pa.float64(), "time spent checking, in s"),
        _field("details", pa.string(), "the whole history.KeyVerdict as JSON"),
    ]
)

WINDOWS: Final = pa.schema(
    [
        _field("second", pa.int64(), "whole seconds since the run's start, by completion time"),
        _field("split", pa.string(), "what the row is split by: all (nothing), key, key+node or node"),
        _field(
            "key",
            pa.string(),
            "the object's key, as JSON; null if it has none or the row is not split by key",
            nullable=True,
        ),
        _field(
            "node", pa.string(), "the node; null if none is recorded or the row is not split by node", nullable=True
        ),
        _field("f", pa.string(), "read, write, cas, …"),
        _field("outcome", pa.string(), "ok, fail or info"),
        _field("count", pa.int64(), "operations completed in that second; only add up rows of one split"),
        _field("p50_ms", pa.float64(), "ms, latency since the invocation", nullable=True),
        _field("p95_ms", pa.float64(), "ms, latency", nullable=True),
        _field("p99_ms", pa.float64(), "ms, latency", nullable=True),
        _field("max_ms", pa.float64(), "ms, latency", nullable=True),
    ]
)

FAULTS: Final = pa.schema(
    [
        _field("id", pa.int64(), "number of the fault in the run"),
        _field("fault", pa.string(), "name of the fault"),
        _field("state", pa.string(), "installed, skipped or indeterminate"),
        _field("family", pa.string(), "family of the fault, as in nemeses.md; null in old recordings", nullable=True),
        _field("target_nodes", _TEXTS, "the nodes that the fault targeted", nullable=True),
        _field("leader", pa.string(), "the leader when the fault started", nullable=True),
        _field("reason", pa.string(), "why the fault was skipped, or what is unknown about it", nullable=True),
        _field("started", pa.int64(), "ns, when its first command began"),
        _field("stood", pa.int64(), "ns, when all of it was in place", nullable=True),
        _field("heal_started", pa.int64(), "ns, when its healing began", nullable=True),
        _field("healed", pa.int64(), "ns, when all of it was undone", nullable=True),
        _field("rate_before", pa.float64(), "ok operations per second in the calm before", nullable=True),
        _field("rate_during", pa.float64(), "ok operations per second while it was in effect", nullable=True),
        _field("rate_after", pa.float64(), "ok operations per second until the next fault", nullable=True),
        _field("longest_gap_ms", pa.float64(), "ms, longest time without an ok until the next fault", nullable=True),
        _field("first_ok_ms", pa.float64(), "ms from healing to the first ok; null if never", nullable=True),
        _field(
            "recovered_ms",
            pa.float64(),
            "ms from healing until the rate was back (see below); null if not before next",
            nullable=True,
        ),
    ]
)

PROBES: Final = pa.schema(
    [
        _field("time", pa.int64(), "ns, when the answer arrived or the probe failed"),
        _field("node", pa.string(), "name of the node"),
        _field("role", pa.string(), "leader, follower, candidate or unknown"),
        _field("term", pa.int64(), "the node's term; -1 if it did not answer"),
        _field("leader", pa.string(), "the leader that the node follows", nullable=True),
        _field("log_begin", pa.int64(), "index of the first entry in the log; -1 if none"),
        _field("log_end", pa.int64(), "index of the last entry in the log; -1 if none"),
        _field("committed", pa.int64(), "highest index that the node knows to be committed; -1 if none"),
        _field("applied", pa.int64(), "highest index that the node has applied; -1 if none"),
        _field("snapshots_saved", pa.int64(), "number saved since the process started"),
        _field("snapshots_loaded", pa.int64(), "number loaded since the process started"),
        _field("clock_ms", pa.int64(), "ms since 1970, by the node's own clock"),
        _field("error", pa.string(), "why there was no answer", nullable=True),
    ]
)

#: The tables in a run's own directory, made from its recorded files.
TABLES: Final[dict[str, pa.Schema]] = {
    "operations": OPERATIONS,
    "verdicts": VERDICTS,
    "windows": WINDOWS,
    "faults": FAULTS,
    "probes": PROBES,
}

CHECKS: Final = pa.schema(
    [
        _field("name", pa.string(), "linearizable, recovery, operations, …"),
        _field("kind", pa.string(), "check (of the system) or gate (of the run; it can only make the verdict unknown)"),
        _field("verdict", pa.string(), "valid, invalid or unknown"),
        _field("asked", pa.string(), "what the check requires"),
        _field("seen", pa.string(), "what the check found: the reason for its verdict"),
        _field("kinds", _TEXTS, "kinds of violations found; empty unless invalid"),
        _field("nodes", _TEXTS, "the nodes at fault; empty if the check names none"),
        _field("findings", pa.string(), "the findings, as a JSON list"),
    ]
)

COVERAGE: Final = pa.schema(
    [
        _field("fault", pa.string(), "name of the fault"),
        _field("family", pa.string(), "family of the fault; null in old recordings", nullable=True),
        _field("phase", pa.string(), "warm-up, main or final, according to the load (see above)"),
        _field("installed", pa.int64(), "how often the fault was started in this phase with a witness of its effect"),
        _field("skipped", pa.int64(), "how often the fault should have been started in this phase but was not"),
        _field(
            "indeterminate",
            pa.int64(),
            "how often the fault was started in this phase with unknown effect",
        ),
        _field(
            "stood_s", pa.float64(), "total time installed within this phase, in s; overlapping faults count separately"
        ),
        _field("nodes", _TEXTS, "nodes hit by the fault in this phase"),
        _field("on_leader", pa.int64(), "how many of the installed ones targeted the leader at that moment"),
        _field(
            "ok",
            pa.int64(),
            "operations begun, answered and applied while it was in effect; null if not counted",
            nullable=True,
        ),
    ]
)

ENVIRONMENT: Final = pa.schema(
    [
        _field("key", pa.string(), "machine, kernel, java, …; nodes.n1 is a key within nodes"),
        _field("value", pa.string(), "the value; anything but text is JSON"),
    ]
)

COUNTEREXAMPLES: Final = pa.schema(
    [
        _field("key", pa.string(), "the object's key, as JSON; null if it has none", nullable=True),
        _field("place", pa.int64(), "number within the key: 0, 1, 2, …, earliest first"),
        _field("kind", pa.string(), "kind of anomaly"),
        _field("sentence", pa.string(), "the contradiction in words"),
        _field("shown_at", pa.int64(), "ns, when the contradiction became visible: its last invocation"),
        _field(
            "core",
            pa.list_(pa.struct(_CORE)),
            "its operations, with the columns of the table operations except `intended`",
        ),
        _field(
            "suspects",
            pa.list_(pa.int64()),
            "invoke_index of the operations, one of which must be wrong; empty if unknown",
        ),
    ]
)

#: The kinds of events, each with its meaning; ``harness ask`` takes them as words.
EVENT_KINDS: Final = {
    "violation": "the time when a counterexample was complete, or when any other finding was first seen",
    "fault": "the nemesis began to install a fault, which was then installed or may have been",
    "heal": "a fault was undone",
    "leader-change": "a node began to lead, or leads in a new term; the run's first leader does not count",
    "gap": "clients had waited 1 s for an ok under load",
    "silent": "a node stopped answering probes",
    "back": "a silent node answered a probe again",
    "log": "a node logged an error, a warning or one of its system's milestones; similar ones in one second count once",
}

EVENTS: Final = pa.schema(
    [
        _field("time", pa.int64(), "ns; null if unknown", nullable=True),
        _field("kind", pa.string(), "what happened; see below"),
        _field(
            "name", pa.string(), "kind of violation, name of the fault, or text of the log line; else null",
            nullable=True,
        ),
        _field("nodes", _TEXTS, "the nodes concerned; empty if none is known"),
        _field(
            "seconds", pa.float64(),
            "length of a gap, or time until a fault was healed or a silent node back or no longer probed; else null",
            nullable=True,
        ),
    ]
)  # fmt: skip

#: The tables of a run's conclusions.  They exist only in the warehouse, because they need the run's results.
CONCLUSIONS: Final[dict[str, pa.Schema]] = {
    "checks": CHECKS,
    "coverage": COVERAGE,
    "environment": ENVIRONMENT,
    "counterexamples": COUNTEREXAMPLES,
    "events": EVENTS,
}

#: The tables that the warehouse holds for each run, in addition to its row in ``runs``.
ALL_TABLES: Final[dict[str, pa.Schema]] = {**TABLES, **CONCLUSIONS}

#: The table ``runs`` of the warehouse: one row for each run.
RUNS: Final = pa.schema(
    [
        _field("run", pa.string(), "the test's name, a slash, the UTC start and the seed"),
        _field("test", pa.string(), "name of the test"),
        _field("started", pa.string(), "UTC start and seed, as in the name of the run's directory; sorts by time"),
        _field(
            "started_at", _UTC, "the same start as a UTC time; null if the directory has another name", nullable=True
        ),
        _field("system_version", pa.string(), "version of the system under test and its mode; empty if unknown"),
        _field("nemesis", pa.string(), "faults, joined by +; empty if there were none"),
        _field("workload", pa.string(), "as in the plan; empty if unknown"),
        _field(
            "settings", pa.string(), "other settings of the plan that affect figures, as name=value, joined by spaces"
        ),
        _field("machine", pa.string(), "processor, cores and memory of the control node", nullable=True),
        _field(
            "verdict",
            pa.string(),
            "valid, invalid, unknown or harness failure; without a plan, the verdict of its keys",
        ),
        _field("sentence", pa.string(), "the verdict in one sentence; null without results", nullable=True),
        _field("expected", _TEXTS, "the verdicts that its suite expects; null outside suites", nullable=True),
        _field("as_expected", pa.bool_(), "whether the verdict is one of these; null outside suites", nullable=True),
        _field("kinds", _TEXTS, "kinds of its violations, without duplicates", nullable=True),
        _field("failed_gates", _TEXTS, "gates that the run did not pass; null without results", nullable=True),
        _field("warnings", _TEXTS, "warnings in the results; null without results", nullable=True),
        _field("harness_failure", pa.string(), "what went wrong in the harness; null if nothing", nullable=True),
        _field("operations", pa.int64(), "number of operations"),
        _field("ok", pa.int64(), "number of ok operations"),
        _field("violations", pa.int64(), "number of violations over all keys"),
        _field("rate", pa.float64(), "ok operations per second under load (see above)", nullable=True),
        _field(
            "unavailable_s", pa.float64(), "total length of gaps over 1 s without an ok under load, in s", nullable=True
        ),
        _field("longest_gap_ms", pa.float64(), "ms, longest time without an ok around any fault", nullable=True),
        _field("p99_ms", pa.float64(), "ms, latency of ok operations under load", nullable=True),
        _field(
            "response_p99_ms",
            pa.float64(),
            "ms, the same but counted from when they were due; null if unknown",
            nullable=True,
        ),
        _field("faults", pa.int64(), "number of installed faults"),
        _field("never_recovered", pa.int64(), "faults after which the rate never came back to 95 %"),
        _field("recovery_ms", pa.float64(), "ms, median of the times until the rate was back", nullable=True),
        _field("recovery_times_ms", _TIMES, "ms, all these times, in ascending order", nullable=True),
        _field(
            "censored_times_ms",
            _TIMES,
            "ms from healing to next (see above) for each fault without recovery, in ascending order",
            nullable=True,
        ),
        _field("written", pa.int64(), "µs since 1970, when the run was written to the warehouse"),
        _field("fingerprint", pa.string(), "fingerprint of the recorded files; the row is replaced if it changes"),
    ]
)

#: The table ``trends`` of the warehouse: one row for each kind of run.
TRENDS: Final = pa.schema(
    [
        _field("system_version", pa.string(), "as in runs"),
        _field("nemesis", pa.string(), "as in runs"),
        _field("workload", pa.string(), "as in runs"),
        _field("runs", pa.int64(), "number of runs"),
        _field("newest", pa.string(), "the latest of them"),
        _field("verdict_counts", pa.map_(pa.string(), pa.int64()), "number of runs with each verdict", nullable=True),
        _field("violations", pa.int64(), "number of violations over all runs"),
        _field("flakiness", pa.float64(), "share of consecutive runs with different verdicts", nullable=True),
        _field("rate_median", pa.float64(), "ok operations per second, median over the runs", nullable=True),
        _field("unavailable_s_median", pa.float64(), "s, median over the runs", nullable=True),
        _field("unavailable_s_max", pa.float64(), "s, maximum over the runs", nullable=True),
        _field("recoveries", pa.int64(), "faults after which the rate came back, over all runs"),
        _field("never_recovered", pa.int64(), "faults after which it never came back, over all runs"),
        _field(
            "recovery_ms_p50",
            pa.float64(),
            "ms, Kaplan-Meier; null if there were no faults, or if half never recovered",
            nullable=True,
        ),
        _field("recovery_ms_p95", pa.float64(), "ms, likewise; null if over 5 % never recovered", nullable=True),
        _field("recovery_ms_max", pa.float64(), "ms, maximum over the faults with a recovery", nullable=True),
        _field(
            "recovery_buckets",
            _BUCKETS,
            "per bucket: more than (ms), up to (ms, null: any), number of faults",
            nullable=True,
        ),
        _field("compared_with", pa.string(), "the previous version, by runs with equal settings", nullable=True),
        _field(
            "recovery_log_rank",
            pa.float64(),
            "z of the log-rank test; positive if slower than that version",
            nullable=True,
        ),
        _field("recovery_p", pa.float64(), "two-sided p-value of that test", nullable=True),
        _field(
            "regressions",
            pa.string(),
            "open and closed regressions, as JSON, because they may compare numbers or verdicts",
        ),
    ]
)
