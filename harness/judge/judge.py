"""Judge the recorded data: checks of the system, gates of the run, and a sentence for the verdict.

Everything here is a pure function of the recorded data, so a run can be judged again at any later time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from harness.judge.committed_prefix import committed_kept
from harness.judge.damage import Damages, damages_of
from harness.judge.election_safety import election_safety, terms_kept
from harness.judge.fault_figures import by_fault, with_details
from harness.judge.gates import gates
from harness.judge.leader_complete import leader_complete
from harness.judge.log_order import log_order
from harness.judge.node_alarms import node_alarms, setup_failures
from harness.judge.recorded import Recorded
from harness.judge.recovery_check import Found, recovery_check, recovery_of
from harness.judge.replicas import replicas_agree
from harness.judge.stretches import logs_reported
from harness.judge.violation_times import describe, violation_times
from harness.plan import Plan
from harness.runstate import RunState
from harness.systems.api import Evidence
from history import Check, KeyVerdict, Operation, Probe, Results, worst


def judge(
    recorded: Recorded, keys: Sequence[KeyVerdict], windows: Sequence[dict[str, Any]], timings: dict[str, float]
) -> Results:
    """Run all checks and gates; the worst of them is the verdict."""
    damages = damages_of(recorded.receipts)
    recovery = recovery_of(recorded, damages)
    probes, moments = recorded.probes, recorded.state.moments
    checks = (
        linearizability(keys, len(recorded.operations), violation_times(recorded.operations, keys, recorded.receipts)),
        recovery_check(recorded, recovery, damages),
        replicas_agree(
            probes,
            quiet=moments.get("quiet"),
            recovered=recovery.recovered if recovery else (),
            since=moments.get("healed") if recovery else None,
        ),
        election_safety(probes, damages),
        terms_kept(probes, damages),
        *_logs(probes, damages),
        node_alarms(recorded, damages),
        *of_workload(recorded),
        *gates(recorded),
    )
    verdict = worst(check.verdict for check in checks)
    detailed = with_details(windows, recorded.receipts, recorded.operations, recorded.probes, recorded.nodes)
    failures = [*recorded.state.failures, *setup_failures(recorded)]
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
        warnings=(
            *recorded.state.warnings,
            *_unreported(probes),
            *damages.warnings(recorded.nodes, lost=checks[0].verdict == "invalid"),
            *_unconfirmed(recorded.state, keys),
        ),
        timings=timings,
    )


# -- checks: the system's ---------------------------------------------------------------------------------------------


def linearizability(keys: Sequence[KeyVerdict], recorded: int, when: dict[str, Any]) -> Check:
    """The worst verdict over all keys.

    ``recorded`` is the number of all operations, also of those without any effect, which need no place in the order;
    ``when`` are the times of the violations (``harness.judge.violation_times``).
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
        seen += f": {describe(when)}" if when else ""
    elif lost:
        seen += f", undecided: {'; '.join(lost)}"
    engines = dict(Counter(key.engine for key in keys))
    asked = "every key's operations fit into one order that respects real time"
    details = {"engines": engines, **({"seen": when} if when else {})}
    return Check("linearizable", "check", verdict, asked, seen, details)


def of_workload(recorded: Recorded) -> tuple[Check, ...]:
    """The workload's own checks, which come on top of its model."""
    evidence = Evidence(
        setup=recorded.plan.setup(), nodes=recorded.nodes, operations=recorded.operations, probes=recorded.probes,
        receipts=recorded.receipts, moments=recorded.state.moments,
    )  # fmt: skip
    return tuple(check(evidence) for check in recorded.plan.load.checks)


def _logs(probes: Sequence[Probe], damages: Damages) -> tuple[Check, ...]:
    """The checks of the nodes' logs; left out where nodes answer, and none says where its log ends."""
    if _unreported(probes):
        return ()
    return leader_complete(probes, damages), log_order(probes, damages), committed_kept(probes, damages)


def _unreported(probes: Sequence[Probe]) -> list[str]:
    """The sentence that logs were not judged, if the nodes answer without a word about them."""
    if logs_reported(probes) or not any(probe.answered for probe in probes):
        return []
    return ["leader-complete, log-order and committed-kept are left out: where logs end was not reported"]


def _unconfirmed(state: RunState, keys: Sequence[KeyVerdict]) -> list[str]:
    """The failure that the monitor stopped the run, but the check does not find it invalid: a bug of ours."""
    if not state.stopped or any(key.verdict == "invalid" for key in keys):
        return []
    return [f"the run was stopped for a violation that the check does not confirm ({state.stopped})"]


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
    """The prefix of all texts on a run with a planted bug."""
    if not plan.canary:
        return ""
    found_by = next(one.found_by for one in plan.under_test.canaries if one.name == plan.canary)
    asked = [check.verdict for check in checks if check.name in found_by]
    if "invalid" in asked:
        return f"the planted bug {plan.canary} was found, as intended; "
    blind = ": the harness was blind to it" if "unknown" not in asked else ""
    return f"the planted bug {plan.canary} was not found{blind}; "


def sentence(
    checks: Sequence[Check],
    keys: Sequence[KeyVerdict],
    recovery: Found | None,
    failures: Sequence[str],
) -> str:
    """The verdict in one sentence."""
    by_name = {check.name: check for check in checks}
    linear = {"valid": "yes", "invalid": "no", "unknown": "undecided"}[by_name["linearizable"].verdict]
    parts = [f"linearizable: {linear}"]
    examples = [example for key in keys for example in key.counterexamples]
    example = min(examples, key=attrgetter("shown_at"), default=None)
    if example is not None:
        parts[0] += f" ({example.kind}: {example.sentence.rstrip('.')})"
    if recovery is not None:
        back = by_name["recovery"]
        word = {"valid": "yes", "invalid": "no", "unknown": "undecided"}[back.verdict]
        parts.append(f"recovery: {word}, {back.seen}")
    parts += [
        f"{check.name}: {check.seen}"
        for check in checks
        if check.verdict != "valid" and check.name not in ("linearizable", "recovery")
    ]
    if failures:
        parts.insert(0, f"the harness failed ({failures[0]})")
    return "; ".join(parts)
