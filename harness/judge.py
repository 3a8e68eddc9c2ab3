"""From what was recorded to a verdict: checks of the system, gates of the run, and one sentence.

Everything here is a pure function of the recorded data, so a run can be judged again at any later time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from harness.fault_figures import by_fault, with_details
from harness.kept import committed_kept
from harness.occasions import occasions, told
from harness.plan import Plan
from harness.recovery import Recovery, assess, last_heal
from harness.runstate import RunState
from harness.terms import election_safety, terms_kept
from history import Check, KeyVerdict, Operation, Probe, Receipt, Results, worst
from history.plans import PLANTED_BUGS
from nemesis.schedule import fault_names

#: What a node's own log may say, what it means, and what follows: a ``violation``, a ``note`` (the library met an error
#: that it retries: worth knowing, no proof of anything), or a failure of the ``harness`` (the set-up is wrong).
ALARMS: Final = (
    ("truncate for data file error", "a data file was destroyed while truncating", "violation"),
    ("Fail to recover state machine", "the state machine could not be recovered", "violation"),
    ("[BUG]", "the library met a state that it calls a bug", "note"),
    ("Apply task exception", "applying committed entries failed and was tried again", "note"),
    ("IllegalAccessError", "the JVM lacks a module open: the set-up is wrong", "harness"),
    ("OutOfMemoryError", "the server ran out of the memory that the harness gave it", "harness"),
    ("Invalid or corrupt jarfile", "the server's program was damaged or lost on its node", "harness"),
    ("Unable to access jarfile", "the server's program was damaged or lost on its node", "harness"),
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a run left behind, as read from its directory."""

    plan: Plan
    operations: Sequence[Operation]
    receipts: Sequence[Receipt]
    probes: Sequence[Probe]
    state: RunState
    nodes: tuple[str, ...]
    log_hits: dict[str, dict[str, int]]  # node -> alarm pattern -> lines


def judge(
    recorded: Recorded, keys: Sequence[KeyVerdict], windows: Sequence[dict[str, Any]], timings: dict[str, float]
) -> Results:
    """All checks and gates, the worst of which is the verdict."""
    recovery = recovery_of(recorded)
    checks = (
        linearizability(keys, len(recorded.operations), occasions(recorded.operations, keys, recorded.receipts)),
        recovery_check(recorded, recovery),
        election_safety(recorded.probes),
        terms_kept(recorded.probes),
        committed_kept(recorded.probes),
        node_logs(recorded.log_hits, recorded.nodes),
        *gates(recorded),
    )
    verdict = worst(check.verdict for check in checks)
    detailed = with_details(windows, recorded.receipts, recorded.operations, recorded.probes, recorded.nodes)
    failures = [*recorded.state.failures, *_setup_failures(recorded.log_hits)]
    return Results(
        verdict=verdict,
        sentence=planted(recorded.plan, checks) + sentence(checks, keys, recovery, failures),
        checks=checks,
        keys=tuple(keys),
        counts=counts(recorded.operations),
        receipts=tuple(receipt.to_json() for receipt in recorded.receipts),
        windows=detailed,
        fault_figures=by_fault(detailed),
        harness_failure="; ".join(failures) or None,
        environment=recorded.state.environment,
        warnings=(*recorded.state.warnings, *_unconfirmed(recorded.state, keys)),
        timings=timings,
    )


# -- checks: the system's ---------------------------------------------------------------------------------------------


def linearizability(keys: Sequence[KeyVerdict], recorded: int, when: dict[str, Any]) -> Check:
    """The worst verdict over all keys.

    ``recorded`` is the number of all operations, also of those without any effect, which no order has to hold;
    ``when`` says when the violations were seen (``harness.occasions``).
    """
    verdict = worst(key.verdict for key in keys)
    checked = sum(key.operations for key in keys)
    bad = [str(key.key) for key in keys if key.verdict == "invalid"]
    lost = [f"{key.key}: {key.reason}" for key in keys if key.verdict == "unknown"]
    left_out = f" ({recorded - checked} without effect left out)" if recorded > checked else ""
    seen = f"{max(checked, recorded)} operations on {len(keys)} keys{left_out}"
    if bad:
        violations = sum(key.violations for key in keys)
        seen += f", {violations} violation{'' if violations == 1 else 's'} on {', '.join(bad)}"
        seen += f": {told(when)}" if when else ""
    elif lost:
        seen += f", undecided: {'; '.join(lost)}"
    engines = dict(Counter(key.engine for key in keys))
    asked = "every key's operations fit into one order that respects real time"
    details = {"engines": engines, **({"seen": when} if when else {})}
    return Check("linearizable", "check", verdict, asked, seen, details)


def recovery_of(recorded: Recorded) -> tuple[Recovery, Recovery] | None:
    """What the probes say of the time after the last heal, and of the time after the load; None when it never came.

    The clients' load goes on after the last heal, and a node may fall behind in it: so what was committed when the load
    had ended must be reached as well.
    """
    swept = recorded.state.moments.get("healed")
    if swept is None or recorded.state.interrupted or "final-reads" not in recorded.state.moments:
        return None
    final = [operation for operation in recorded.operations if operation.phase == "final"]
    healed = last_heal(recorded.receipts, swept)
    return _recovery_since(recorded, recorded.operations, healed), _recovery_since(recorded, final, swept)


def _recovery_since(recorded: Recorded, operations: Sequence[Operation], healed: int) -> Recovery:
    through_quorum = recorded.plan.read_mode == "log"
    returns = [
        operation.returned
        for operation in operations
        if operation.outcome == "ok"
        and operation.invoked >= healed
        and (through_quorum or operation.phase == "final" or operation.f != "read")
    ]
    times = [moment for moment in returns if moment is not None]
    return assess(recorded.probes, recorded.nodes, healed, min(times, default=None))


def recovery_check(recorded: Recorded, found: tuple[Recovery, Recovery] | None) -> Check:
    """No recovery is a finding of its own, whatever linearizability says."""
    limit = recorded.plan.recovery_time
    asked = f"within {limit:g} s of the last heal the cluster commits and every node applies what was committed then"
    if found is None:
        return Check("recovery", "check", "unknown", asked, "the run was cut before it could be seen")
    since_heal, since_load = found
    if since_heal.target >= 0 and since_heal.seconds is None:
        return Check("recovery", "check", "invalid", asked, since_heal.sentence(), _not_back(since_heal))
    if since_load.target >= 0 and since_load.seconds is None:
        seen = f"after the load {since_load.sentence()}"
        if since_heal.seconds is not None and since_heal.target >= 0:
            seen = f"all nodes at {since_heal.target} after {since_heal.seconds:.1f} s, but {seen}"
        return Check("recovery", "check", "invalid", asked, seen, _not_back(since_load))
    if min(since_heal.target, since_load.target) < 0:
        return Check(
            "recovery", "check", "unknown", asked, "no node ever told a commit index: there is nothing to reach"
        )
    assert since_heal.seconds is not None
    assert since_load.seconds is not None
    seen = f"all nodes at {since_heal.target} after {since_heal.seconds:.1f} s"
    slowest = max(since_heal.seconds, since_load.seconds)
    if since_load.seconds > max(since_heal.seconds, limit + 1.0):
        seen += f", but at {since_load.target} only {since_load.seconds:.1f} s after the load"
    details = {**_reached(since_heal), "seconds": since_heal.seconds}
    return Check("recovery", "check", "valid" if slowest <= limit + 1.0 else "invalid", asked, seen, details)


def _reached(recovery: Recovery) -> dict[str, Any]:
    return {
        "healed_ns": recovery.healed_at,
        "target": recovery.target,
        "leader_at_heal": recovery.leader,
        "applied": recovery.applied,
        "reached_ns": recovery.reached,
        "behind": list(recovery.behind),
    }


def _not_back(recovery: Recovery) -> dict[str, Any]:
    return {**_reached(recovery), "kind": "no-recovery"}


def node_logs(log_hits: dict[str, dict[str, int]], nodes: Sequence[str]) -> Check:
    """The nodes' own logs hold no line that must never be there."""
    asked = "no alarm in the nodes' logs"
    violations, notes = _log_lines(log_hits, "violation"), _log_lines(log_hits, "note")
    if violations:
        return Check(
            "node-logs", "check", "invalid", asked, "; ".join(violations), {"kind": "log-alarm", "notes": notes}
        )
    if missing := [node for node in nodes if node not in log_hits]:
        which = ", ".join(missing) if log_hits else "any node"
        return Check("node-logs", "check", "unknown", asked, f"no logs were collected of {which}", {"notes": notes})
    seen = f"{len(log_hits)} logs read" + (f"; noted: {'; '.join(notes)}" if notes else "")
    return Check("node-logs", "check", "valid", asked, seen, {"notes": notes})


def _log_lines(log_hits: dict[str, dict[str, int]], follows: str) -> list[str]:
    return [
        f"{count} times {pattern!r} on {', '.join(nodes)} ({meaning})"
        for pattern, meaning, what in ALARMS
        if what == follows
        and (nodes := sorted(node for node, hits in log_hits.items() if hits.get(pattern)))
        and (count := sum(log_hits[node][pattern] for node in nodes))
    ]


def _unconfirmed(state: RunState, keys: Sequence[KeyVerdict]) -> list[str]:
    """The monitor stopped the run, but the check does not say invalid: one of the two is wrong, and that is ours."""
    if not state.stopped or any(key.verdict == "invalid" for key in keys):
        return []
    return [f"the run was stopped for a violation that the check does not confirm ({state.stopped})"]


def _setup_failures(log_hits: dict[str, dict[str, int]]) -> list[str]:
    return _log_lines(log_hits, "harness")


# -- gates: was the run worth something? ------------------------------------------------------------------------------


def gates(recorded: Recorded) -> tuple[Check, ...]:
    """Each can only make a run unknown: what it proved nothing about."""
    return (
        _gate_operations(recorded),
        _gate_under_fault(recorded),
        _gate_faults(recorded),
        _gate_final_reads(recorded),
        _gate_whole(recorded),
    )


_SPANS_TOLD: Final = 4


def _gate(name: str, met: bool, asked: str, seen: str) -> Check:
    return Check(name, "gate", "valid" if met else "unknown", asked, seen)


def _gate_operations(recorded: Recorded) -> Check:
    kinds = ("read", "write", "cas") if recorded.plan.workload == "cas-register" else ("read", "write")
    ok = Counter(op.f for op in recorded.operations if op.outcome == "ok" and op.phase == "main")
    seen = ", ".join(f"{ok[kind]} {kind}s" for kind in kinds)
    return _gate("operations", all(ok[kind] for kind in kinds), "ok operations of every kind in the main phase", seen)


def _gate_under_fault(recorded: Recorded) -> Check:
    asked = "some operations ok while a fault stood, from its last command to the first of its healing"
    if not recorded.plan.nemesis:
        return _gate("under-fault", met=True, asked=asked, seen="no fault was asked for")
    spans = [
        (receipt.stood, receipt.heal_started if receipt.heal_started is not None else float("inf"))
        for receipt in recorded.receipts
        if receipt.state == "installed" and receipt.stood is not None
    ]
    count = sum(
        1
        for op in recorded.operations
        if op.outcome == "ok"
        and op.phase == "main"
        and op.returned is not None
        and any(begin <= op.returned <= end for begin, end in spans)
    )
    seen = f"{count} operations" if count else f"no operation was ok{_why_none(spans, recorded)}"
    return _gate("under-fault", count > 0, asked, seen)


def _why_none(spans: Sequence[tuple[int, float]], recorded: Recorded) -> str:
    """When a fault stood, and whether anybody could have answered then."""
    if not spans:
        return ": no fault stood"
    when = ", ".join(f"{begin / 1e9:.1f} to {end / 1e9:.1f} s" for begin, end in spans[:_SPANS_TOLD])
    more = f" and {len(spans) - _SPANS_TOLD} times more" if len(spans) > _SPANS_TOLD else ""
    installed = [receipt for receipt in recorded.receipts if receipt.state == "installed"]
    all_struck = all(set(recorded.nodes) <= set(r.nodes) and "grudge" not in r.targets for r in installed)
    nobody = "; every node was struck, so none could answer: only another fault can meet this" if all_struck else ""
    return f" from {when}{more}{nobody}"


def _gate_faults(recorded: Recorded) -> Check:
    asked = "every fault named was installed at least once, with a witness"
    # Of "all", those whose turn came: how many that are depends on the time limit.
    named = [name for name in fault_names(recorded.plan.nemesis) if name != "all"]
    states = {name: Counter[str]() for name in named}
    for receipt in recorded.receipts:
        states.setdefault(receipt.fault, Counter())[receipt.state] += 1
    seen = "; ".join(
        f"{name}: " + (", ".join(f"{n} {state}" for state, n in sorted(c.items())) or "never tried")
        for name, c in states.items()
    )
    tried = states if "all" in recorded.plan.nemesis else named
    met = all(states[name]["installed"] for name in tried) and bool(tried or not recorded.plan.nemesis)
    return _gate("faults", met, asked, seen or "no fault was asked for")


def _gate_final_reads(recorded: Recorded) -> Check:
    keys = {op.key for op in recorded.operations}
    moment = recorded.state.moments.get("final-reads")
    read = {
        op.key
        for op in recorded.operations
        if moment is not None and op.f == "read" and op.outcome == "ok" and op.invoked >= moment
    }
    missing = sorted(str(key) for key in keys - read)
    seen = f"{len(read)} of {len(keys)} keys" + (f", not {', '.join(missing)}" if missing and read else "")
    return _gate("final-reads", bool(keys) and not missing, "every register was read at the end", seen)


def _gate_whole(recorded: Recorded) -> Check:
    state = recorded.state
    if state.interrupted:
        seen = "interrupted"
    elif state.failures:
        seen = "the harness failed"
    elif state.stopped:
        seen = "stopped at the first violation, as asked"
    else:
        seen = "yes" if state.ended else "the harness was killed"
    return _gate("whole", seen == "yes", "the run came to its end", seen)


# -- words ------------------------------------------------------------------------------------------------------------


def counts(operations: Sequence[Operation]) -> dict[str, Any]:
    """Operations by phase, kind and outcome, and in all."""
    table: dict[str, dict[str, dict[str, int]]] = {}
    for op in operations:
        row = table.setdefault(op.phase or "main", {}).setdefault(op.f, {"ok": 0, "fail": 0, "info": 0})
        row[op.outcome] += 1
    total = Counter(op.outcome for op in operations)
    return {"phases": table, "ok": total["ok"], "fail": total["fail"], "info": total["info"], "all": len(operations)}


def planted(plan: Plan, checks: Sequence[Check]) -> str:
    """What stands before every word on a run whose server is wrong on purpose."""
    if not plan.canary:
        return ""
    asked = [check.verdict for check in checks if check.name in PLANTED_BUGS[plan.canary]]
    if "invalid" in asked:
        return f"the planted bug {plan.canary} was found, as intended; "
    blind = ": the harness was blind to it" if "unknown" not in asked else ""
    return f"the planted bug {plan.canary} was not found{blind}; "


def sentence(
    checks: Sequence[Check],
    keys: Sequence[KeyVerdict],
    recovery: tuple[Recovery, Recovery] | None,
    failures: Sequence[str],
) -> str:
    """What to say to somebody who has ten seconds."""
    by_name = {check.name: check for check in checks}
    linear = {"valid": "yes", "invalid": "no", "unknown": "undecided"}[by_name["linearizable"].verdict]
    parts = [f"linearizable: {linear}"]
    examples = [example for key in keys for example in key.counterexamples]
    example = min(examples, key=attrgetter("shown_at"), default=None)
    if example is not None:
        parts[0] += f" ({example.kind}: {example.sentence.rstrip('.')})"
    if recovery is not None:
        back = by_name["recovery"]
        parts.append(f"recovery: {'yes' if back.verdict == 'valid' else 'no'}, {back.seen}")
    parts += [
        f"{check.name}: {check.seen}"
        for check in checks
        if check.verdict != "valid" and check.name not in ("linearizable", "recovery")
    ]
    if failures:
        parts.insert(0, f"the harness failed ({failures[0]})")
    return "; ".join(parts)
