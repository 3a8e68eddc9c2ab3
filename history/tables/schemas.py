"""The Arrow schemas of the Parquet tables: names, units and nullability.  Times are nanoseconds since the run's start.

Lists, maps and calendar times use Arrow's own types.  Columns that would need a union hold JSON text instead: the keys,
values and results of operations (any JSON), and whole records that are kept for programs (``details``).
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

TABLES_VERSION: Final = 4
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
        _field("invoke_index", pa.int64(), "place of the invocation in history.jsonl"),
        _field("return_index", pa.int64(), "place of the completion; null if there was none", nullable=True),
        _field("process", pa.int64(), "the client's process number"),
        _field("f", pa.string(), "read, write, cas, …"),
        _field("key", pa.string(), "the object, as JSON; null for an unkeyed one", nullable=True),
        _field("value", pa.string(), "what was asked, as JSON"),
        _field("result", pa.string(), "what was answered, as JSON; null unless ok", nullable=True),
        _field("outcome", pa.string(), "ok, fail or info"),
        _field("invoked", pa.int64(), "ns"),
        _field("returned", pa.int64(), "ns; null if there was no completion", nullable=True),
        _field("node", pa.string(), "which node answered, or was asked last", nullable=True),
        _field("error", pa.string(), "code and text of a fail or info", nullable=True),
        _field("phase", pa.string(), "warm-up, main or final", nullable=True),
        _field("intended", pa.int64(), "ns, when it was due, at or before `invoked`; null: not known", nullable=True),
    ]
)
#: The columns of operations in counterexamples.  They are fixed, because a struct cannot grow as a table can.
_CORE: Final = [field for field in OPERATIONS if field.name != "intended"]

VERDICTS: Final = pa.schema(
    [
        _field("key", pa.string(), "the object, as JSON; null for an unkeyed one", nullable=True),
        _field("verdict", pa.string(), "valid, invalid or unknown"),
        _field("engine", pa.string(), "the algorithm that decided"),
        _field("operations", pa.int64(), "how many were checked"),
        _field("violations", pa.int64(), "how many were found"),
        _field("seconds", pa.float64(), "s spent checking"),
        _field("details", pa.string(), "the whole history.KeyVerdict as JSON"),
    ]
)

WINDOWS: Final = pa.schema(
    [
        _field("second", pa.int64(), "whole seconds since the run's start, by completion time"),
        _field("split", pa.string(), "what else the row is for: all, key, key+node or node"),
        _field("key", pa.string(), "the object, as JSON; null for an unkeyed one and where not split", nullable=True),
        _field("node", pa.string(), "the node; null if none is recorded and where not split", nullable=True),
        _field("f", pa.string(), "read, write, cas, …"),
        _field("outcome", pa.string(), "ok, fail or info"),
        _field("count", pa.int64(), "operations completed in that second; add up rows of one split only"),
        _field("p50_ms", pa.float64(), "ms, latency since the invocation", nullable=True),
        _field("p95_ms", pa.float64(), "ms, latency", nullable=True),
        _field("p99_ms", pa.float64(), "ms, latency", nullable=True),
        _field("max_ms", pa.float64(), "ms, latency", nullable=True),
    ]
)

FAULTS: Final = pa.schema(
    [
        _field("id", pa.int64(), "the fault's number in the run"),
        _field("fault", pa.string(), "its name"),
        _field("state", pa.string(), "installed, skipped or indeterminate"),
        _field("family", pa.string(), "its family, as in nemeses.md; null in old recordings", nullable=True),
        _field("target_nodes", _TEXTS, "the nodes that it was aimed at", nullable=True),
        _field("leader", pa.string(), "who led when it started", nullable=True),
        _field("reason", pa.string(), "why it was skipped, or what is not known of it", nullable=True),
        _field("started", pa.int64(), "ns"),
        _field("stood", pa.int64(), "ns", nullable=True),
        _field("heal_started", pa.int64(), "ns", nullable=True),
        _field("healed", pa.int64(), "ns", nullable=True),
        _field("rate_before", pa.float64(), "ok operations a second in the calm before", nullable=True),
        _field("rate_during", pa.float64(), "ok operations a second while it stood", nullable=True),
        _field("rate_after", pa.float64(), "ok operations a second until the next fault", nullable=True),
        _field("longest_gap_ms", pa.float64(), "ms, longest stretch without an ok until the next fault", nullable=True),
        _field("first_ok_ms", pa.float64(), "ms from healing to the first ok; null: never", nullable=True),
        _field(
            "recovered_ms",
            pa.float64(),
            "ms from healing until the rate is back (see above); null: not before next",
            nullable=True,
        ),
    ]
)

PROBES: Final = pa.schema(
    [
        _field("time", pa.int64(), "ns"),
        _field("node", pa.string(), "the node's name"),
        _field("role", pa.string(), "leader, follower, candidate or unknown"),
        _field("term", pa.int64(), "-1: no answer"),
        _field("leader", pa.string(), "the leader that it follows", nullable=True),
        _field("log_begin", pa.int64(), "index"),
        _field("log_end", pa.int64(), "index"),
        _field("committed", pa.int64(), "index"),
        _field("applied", pa.int64(), "index"),
        _field("snapshots_saved", pa.int64(), "count since the process started"),
        _field("snapshots_loaded", pa.int64(), "count since the process started"),
        _field("clock_ms", pa.int64(), "ms since 1970, the node's own clock"),
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
        _field("kind", pa.string(), "check (of the system) or gate (of the run: it can only make it unknown)"),
        _field("verdict", pa.string(), "valid, invalid or unknown"),
        _field("asked", pa.string(), "what had to be so"),
        _field("seen", pa.string(), "what was found: the reason for the verdict"),
        _field("kinds", _TEXTS, "the kinds of violations that it found; empty unless it is invalid"),
        _field("nodes", _TEXTS, "the nodes at fault; empty if none is named"),
        _field("findings", pa.string(), "its findings, as a list in JSON"),
    ]
)

COVERAGE: Final = pa.schema(
    [
        _field("fault", pa.string(), "its name"),
        _field("family", pa.string(), "its family; null in old recordings", nullable=True),
        _field("phase", pa.string(), "warm-up, main or final, by the load (see above)"),
        _field("installed", pa.int64(), "how often it was started in this phase, and had a witness"),
        _field("skipped", pa.int64(), "how often it was to be started in this phase, and was not"),
        _field(
            "indeterminate",
            pa.int64(),
            "how often it was started in this phase, with an effect that is not known",
        ),
        _field("stood_s", pa.float64(), "s for which it was installed within this phase, two at once counted twice"),
        _field("nodes", _TEXTS, "the nodes that were hit by one installed in this phase"),
        _field("on_leader", pa.int64(), "how many of the installed were aimed at who led then"),
        _field("ok", pa.int64(), "operations begun, answered and applied under it; null: not counted", nullable=True),
    ]
)

ENVIRONMENT: Final = pa.schema(
    [
        _field("key", pa.string(), "machine, kernel, java, …; nodes.n1 is a key within nodes"),
        _field("value", pa.string(), "text; anything else as JSON"),
    ]
)

COUNTEREXAMPLES: Final = pa.schema(
    [
        _field("key", pa.string(), "the object, as JSON; null for an unkeyed one", nullable=True),
        _field("place", pa.int64(), "0, 1, 2, … within the key, earliest first"),
        _field("kind", pa.string(), "the kind of the anomaly"),
        _field("sentence", pa.string(), "what cannot be, in words"),
        _field("shown_at", pa.int64(), "ns, from when on it can be seen: the last invocation in it"),
        _field("core", pa.list_(pa.struct(_CORE)), "the operations, with the columns of that table but `intended`"),
        _field("suspects", pa.list_(pa.int64()), "invoke_index of those of which one must be wrong; empty if unknown"),
    ]
)

#: The tables of a run's conclusions.  They exist only in the warehouse, because they need the run's results.
CONCLUSIONS: Final[dict[str, pa.Schema]] = {
    "checks": CHECKS,
    "coverage": COVERAGE,
    "environment": ENVIRONMENT,
    "counterexamples": COUNTEREXAMPLES,
}

#: The tables that the warehouse holds for each run, in addition to its row in ``runs``.
ALL_TABLES: Final[dict[str, pa.Schema]] = {**TABLES, **CONCLUSIONS}

#: The table ``runs`` of the warehouse: one row for each run.
RUNS: Final = pa.schema(
    [
        _field("run", pa.string(), "the test's name, a slash, UTC start and seed"),
        _field("test", pa.string(), "the test's name"),
        _field("started", pa.string(), "UTC start and seed, as the run's directory is named: sorts by time"),
        _field("started_at", _UTC, "the same start, UTC; null if the directory is named otherwise", nullable=True),
        _field("system_version", pa.string(), "of the system under test, and its mode; empty if unknown"),
        _field("nemesis", pa.string(), "faults, joined by +; empty if there were none"),
        _field("workload", pa.string(), "as in the plan; empty if unknown"),
        _field("settings", pa.string(), "whatever else of the plan moves a figure, as name=value, joined by spaces"),
        _field("machine", pa.string(), "processor, cores and memory of the control node", nullable=True),
        _field("verdict", pa.string(), "valid, invalid, unknown or harness failure; without a plan that of its keys"),
        _field("sentence", pa.string(), "the verdict in one sentence; null without results", nullable=True),
        _field("expected", _TEXTS, "the verdicts that its suite expects; null outside of suites", nullable=True),
        _field("as_expected", pa.bool_(), "and did it end so; null outside of suites", nullable=True),
        _field("kinds", _TEXTS, "the kinds of its violations, each once", nullable=True),
        _field("failed_gates", _TEXTS, "the gates that it did not pass; null without results", nullable=True),
        _field("warnings", _TEXTS, "null without results", nullable=True),
        _field("harness_failure", pa.string(), "what went wrong with the harness; null: nothing", nullable=True),
        _field("operations", pa.int64(), "how many"),
        _field("ok", pa.int64(), "how many"),
        _field("violations", pa.int64(), "over all keys"),
        _field("rate", pa.float64(), "ok operations a second under load (see above)", nullable=True),
        _field("unavailable_s", pa.float64(), "s of the load in stretches of over 1 s without an ok", nullable=True),
        _field("longest_gap_ms", pa.float64(), "ms, longest stretch without an ok around any fault", nullable=True),
        _field("p99_ms", pa.float64(), "ms, latency of ok operations of the load", nullable=True),
        _field("response_p99_ms", pa.float64(), "ms, the same since they were due; null: not known", nullable=True),
        _field("faults", pa.int64(), "how many were installed"),
        _field("never_recovered", pa.int64(), "how many of them had no way back to 95 % of the rate"),
        _field("recovery_ms", pa.float64(), "ms, median over the faults that had one", nullable=True),
        _field("recovery_times_ms", _TIMES, "ms, all of them, in ascending order", nullable=True),
        _field(
            "censored_times_ms",
            _TIMES,
            "ms from healing to next (see above) of each that never recovered, in ascending order",
            nullable=True,
        ),
        _field("written", pa.int64(), "µs since 1970, when the run's tables were written here"),
        _field("fingerprint", pa.string(), "of the recorded files; another one means another row"),
    ]
)

#: The table ``trends`` of the warehouse: one row for each kind of run.
TRENDS: Final = pa.schema(
    [
        _field("system_version", pa.string(), "as in runs"),
        _field("nemesis", pa.string(), "as in runs"),
        _field("workload", pa.string(), "as in runs"),
        _field("runs", pa.int64(), "how many"),
        _field("newest", pa.string(), "the last of them"),
        _field("verdict_counts", pa.map_(pa.string(), pa.int64()), "how many of each", nullable=True),
        _field("violations", pa.int64(), "over all runs"),
        _field("flakiness", pa.float64(), "share of neighbouring runs with different verdicts", nullable=True),
        _field("rate_median", pa.float64(), "ok operations a second, over the runs", nullable=True),
        _field("unavailable_s_median", pa.float64(), "s, over the runs", nullable=True),
        _field("unavailable_s_max", pa.float64(), "s, over the runs", nullable=True),
        _field("recoveries", pa.int64(), "faults with a way back, over all runs"),
        _field("never_recovered", pa.int64(), "faults without, over all runs"),
        _field(
            "recovery_ms_p50", pa.float64(), "ms, Kaplan-Meier; null: no faults, or half never recovered", nullable=True
        ),
        _field("recovery_ms_p95", pa.float64(), "ms, likewise; null: over 5 % never recovered", nullable=True),
        _field("recovery_ms_max", pa.float64(), "ms, over the faults with a way back", nullable=True),
        _field("recovery_buckets", _BUCKETS, "each more than ms, up to ms (null: any), how many faults", nullable=True),
        _field("compared_with", pa.string(), "the version before, with runs of equal settings", nullable=True),
        _field("recovery_log_rank", pa.float64(), "z of the log-rank test; positive: slower than it", nullable=True),
        _field("recovery_p", pa.float64(), "two-sided p-value of that test", nullable=True),
        _field("regressions", pa.string(), "open and closed, as JSON: what is compared may be a number or a verdict"),
    ]
)
