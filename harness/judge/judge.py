"""Judge the recorded data: checks of the system, gates of the run, and a sentence for the verdict.

Everything here is a pure function of the recorded data, so a run can be judged again at any later time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

import numpy as np
from msgspec import structs

from checker.models.registry import model_named
from checker.models.transactions import Transactions
from harness.judge.damage import Voided, damages_of
from harness.judge.fault_figures import by_fault, with_details
from harness.judge.gates import gates
from harness.judge.node_alarms import node_alarms, setup_failures
from harness.judge.node_checks import node_checks
from harness.judge.recorded import Recorded
from harness.judge.recovery_check import recovery_check, recovery_of
from harness.judge.system_checks import own_checks
from harness.judge.violation_times import violation_times
from harness.plan import Plan
from harness.runstate import RunState
from harness.systems.promise import Promise
from history import Check, KeyVerdict, Results, worst
from history.codes import FAIL, OUTCOMES
from history.columns.operations import NONE, Operations
from history.records.finding import Elements, Finding, IsolationLevel, ViolationTimes, contradictions_of_keys
from reports.words.of_clients import (
    INEXACT,
    ONE_ORDER,
    checker_failure_text,
    isolation_text,
    level_text,
    linearizability_text,
    planted_bug_text,
    sentence,
    unread_text,
)
from reports.words.of_damage import voided_text

#: A verdict mentions a final stretch without a successful read if clients kept trying for this long (ns).
UNREAD_NS: Final = 10_000_000_000
#: Checks and kinds of contradictions that a loss of entries can never explain.
_NEVER_BY_LOSS: Final = frozenset(
    {"node-logs", "election-safety", "terms-kept", "recovery"}
    | {"never-written", "future-read", "failed-write-read", "wrong-total"}
    | {"overcount", "undercount"}
)


def judge(
    recorded: Recorded, keys: Sequence[KeyVerdict], windows: Sequence[dict[str, Any]], timings: dict[str, float]
) -> Results:
    """Run all checks and gates; the worst of them is the verdict."""
    damages = damages_of(recorded.receipts, recorded.plan)
    recovery = recovery_of(recorded, damages)
    evidence = recorded.evidence(recovery.recovered if recovery else ())
    voided = damages.voided(recorded.members, recorded.of_members)
    of_nodes, left_out = node_checks(recorded, recovery, damages)
    common = [recovery_check(recorded, recovery, damages), *of_nodes, *node_alarms(recorded, damages)]
    ours = gates(recorded, {*recovery.refused, *(recovery.restarted or recovery).refused} if recovery else ())
    model, since = recorded.plan.load.model, unread(recorded)
    if isinstance(model, str):
        of_keys = "linearizable" if recorded.plan.load.level is None else "isolation"
        times = violation_times(recorded.operations, keys, recorded.receipts, of_keys)
        if recorded.plan.load.level is None:
            of_clients = linearizability(keys, len(recorded.operations), times, since)
        else:
            of_clients = isolation(keys, str(recorded.plan.model), recorded.operations, times, since)
    else:
        (of_clients,) = own_checks([model], evidence, [*common, *ours])
        of_clients = _untested(of_clients, since)
    named = [of_clients, *common, *ours]
    of_load = [_untested(check, since) for check in own_checks(recorded.plan.load.checks, evidence, named)]
    of_system = [*of_load, *own_checks(recorded.plan.under_test.invariants, evidence, [*named, *of_load])]
    checks = tuple(excused(check, voided) for check in settled([of_clients, *common, *of_system, *ours]))
    # A gate is valid or unknown, never invalid, so it can neither cause a violation nor hide one.
    verdict = worst(check.verdict for check in checks)
    detailed = with_details(
        windows, recorded.receipts, recorded.operations, recorded.of_members, recorded.members, recorded.clock
    )
    failures = [*recorded.state.failures, *setup_failures(recorded)]
    failures += [failure] if (failure := checker_failure_text(keys)) else []
    return Results(
        verdict=verdict,
        sentence=planted_bug_prefix(recorded.plan, checks)
        + sentence(checks, keys, failures, recovery=recovery is not None),
        checks=checks,
        keys=tuple(keys),
        counts=counts(recorded.operations),
        receipts=tuple(receipt.to_json() for receipt in recorded.receipts),
        windows=detailed,
        fault_figures=by_fault(detailed),
        harness_failure="; ".join(failures) or None,
        environment={**recorded.state.environment, **_of_system(recorded.plan, checks)},
        warnings=(
            *recorded.state.warnings,
            *left_out,
            *damages.warnings(recorded.members, lost=checks[0].verdict == "invalid"),
            *_unconfirmed(recorded.state, of_clients),
        ),
        timings=timings,
    )


def _of_system(plan: Plan, checks: Sequence[Check]) -> dict[str, Any]:
    """Return facts about the system for readers who do not know it.

    These are what the planted bug does, how many lower bits of an index count within an epoch, what an
    index counts if not entries, what the system promises, and what its log lines and options mean.
    """
    bug = {"planted_bug": plan.declared_planted_bug.help} if plan.declared_planted_bug is not None else {}
    bits = {"epoch_bits": plan.under_test.epoch_bits} if plan.under_test.epoch_bits else {}
    options = (
        {"words": {option.name: option.help for option in plan.under_test.options}} if plan.under_test.options else {}
    )
    logs = plan.under_test.log_words.to_environment()
    unit = {"index_unit": plan.under_test.index_unit} if plan.under_test.index_unit else {}
    return {**bug, **bits, **unit, "promises": _promises(plan, checks), **logs, **options}


def _promises(plan: Plan, checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Return what the system promises about this workload's operations, and the promises that its checks rely on.

    A page that names a violation also names the promise that it breaks.
    """
    kinds, names = {*plan.load.kinds, *plan.load.reads}, {check.name for check in checks}
    promises = (item if isinstance(item, Promise) else Promise(item) for item in plan.under_test.promises)
    return [
        asdict(replace(promise, of=tuple(kind for kind in promise.of if kind in kinds)))
        for promise in promises
        if not (promise.of or promise.checks) or kinds.intersection(promise.of) or names.intersection(promise.checks)
    ]


# -- checks: the system's ---------------------------------------------------------------------------------------------


def linearizability(
    keys: Sequence[KeyVerdict], recorded: int, when: ViolationTimes | None, unread: int | None = None
) -> Check:
    """Return the check of linearizability, with the worst verdict over all keys.

    ``recorded`` counts all operations, including those without any effect, which need no place in the order.  ``when``
    holds the times of the violations (``harness.judge.violation_times``).  ``unread`` is since when nothing was read,
    and so nothing was tested (see :func:`unread`).
    """
    verdict = worst(key.verdict for key in keys)
    # No operation counted, so any order fits, which proves nothing.
    if verdict == "valid" and not any(key.operations for key in keys):
        verdict = "unknown"
    text = linearizability_text(keys, recorded, when, unread)
    return Check("linearizable", "check", verdict, ONE_ORDER, text, _of_keys("linearizable", keys, when))


def isolation(
    keys: Sequence[KeyVerdict],
    model: str,
    operations: Operations,
    when: ViolationTimes | None,
    unread: int | None = None,
) -> Check:
    """Return the check that transactions satisfy the isolation level in the name of their ``model``."""
    transactions = model_named(model)
    assert isinstance(transactions, Transactions)
    verdict = worst(key.verdict for key in keys) if keys else "unknown"
    number = len(operations), int(np.count_nonzero(operations.which(FAIL)))
    unseen = unread_text(unread) + ("" if transactions.exact else INEXACT)
    text = isolation_text(keys, number, when, unseen if keys else "")
    level = [IsolationLevel(level=transactions.level)] if verdict == "invalid" else []
    findings = (*_of_keys("isolation", keys, when), *level)
    return Check("isolation", "check", verdict, level_text(transactions.level), text, findings)


def _of_keys(check: str, keys: Sequence[KeyVerdict], when: ViolationTimes | None) -> tuple[Finding, ...]:
    wrong = contradictions_of_keys(check, ((key.key, key.kinds, key.more) for key in keys if key.kinds))
    return (*wrong, *([when] if when else []))


def _untested(check: Check, since: int | None) -> Check:
    """Say since when nothing was read, if a passed check relies on reads."""
    return replace(check, seen=check.seen + unread_text(since)) if check.verdict == "valid" else check


def unread(recorded: Recorded) -> int | None:
    """Return since when no read succeeded (ns; ``NONE``: never); None unless clients kept trying for a long time."""
    if not (reads := recorded.plan.load.reads) or not len(recorded.operations):
        return None
    ops = recorded.operations
    last = int(ops.returned[ops.called.among(reads) & ops.served].max(initial=NONE))
    tried = int(ops.invoked.max())
    silent = tried - last - recorded.clock.slept(last, max(last, tried))
    return last if last == NONE or silent >= UNREAD_NS else None


def _unconfirmed(state: RunState, of_clients: Check) -> list[str]:
    """Return a warning if the monitor stopped the run but the check finds no violation.

    One of the two then has a bug, which is ours.
    """
    if not state.stopped or of_clients.verdict == "invalid":
        return []
    return [f"the monitor stopped the run for a violation that the check does not confirm ({state.stopped})"]


def settled(checks: Sequence[Check]) -> list[Check]:
    """Give each lost element the severity that the last reads of its set show.

    An element that the last read of every node holds is not lost; one that only some nodes hold is missing on nodes.
    """
    of_sets = next((finding for check in checks for finding in check.findings if isinstance(finding, Elements)), None)
    if of_sets is None:
        return list(checks)

    def severity(finding: Finding) -> Finding:
        return structs.replace(finding, severity=of_sets.severity) if finding.kind == "lost-element" else finding

    return [replace(check, findings=tuple(map(severity, check.findings))) for check in checks]


def excused(check: Check, voided: Voided | None) -> Check:
    """Make a check undecided if its violations may follow from entries that our own damage lost (``voided``).

    This depends on all violations that the check found, not only on those that are shown.
    """
    if voided is None or check.verdict != "invalid" or check.kind == "gate" or check.name in _NEVER_BY_LOSS:
        return check
    wrong = [finding for finding in check.findings if finding.verdict == "invalid"]
    if any(
        finding.kind in _NEVER_BY_LOSS or (finding.since is not None and finding.since < voided.since)
        for finding in wrong
    ):
        return check
    left = tuple(structs.replace(finding, verdict="unknown") for finding in check.findings)
    return replace(check, verdict="unknown", seen=f"{check.seen}; but {voided_text(*voided)}", findings=left)


def counts(operations: Operations) -> dict[str, Any]:
    """Count the operations by phase, kind and outcome, and in total."""
    phases, kinds, outcomes = (*operations.phase.names, "main"), operations.f.names, len(OUTCOMES)
    row = (operations.phase.codes % len(phases)) * len(kinds) + operations.f.codes  # no phase has the last place
    present, first, number = np.unique(row * outcomes + operations.outcome, return_index=True, return_counts=True)
    table: dict[str, dict[str, dict[str, int]]] = {}
    for place in np.argsort(first):
        code, outcome = divmod(int(present[place]), outcomes)
        phase, kind = divmod(code, len(kinds))
        counted_row = table.setdefault(phases[phase], {}).setdefault(kinds[kind], {"ok": 0, "fail": 0, "info": 0})
        counted_row[OUTCOMES[outcome]] += int(number[place])
    total = {name: int(np.count_nonzero(operations.which(code))) for code, name in enumerate(OUTCOMES)}
    return {"phases": table, "ok": total["ok"], "fail": total["fail"], "info": total["info"], "all": len(operations)}


def planted_bug_prefix(plan: Plan, checks: Sequence[Check]) -> str:
    """Return the start of the sentence about a run with a planted bug; empty for any other run."""
    if not plan.planted_bug:
        return ""
    caught = any(check.verdict == "invalid" for check in checks if check.name in plan.found_by)
    return planted_bug_text(plan.planted_bug, caught=caught)
