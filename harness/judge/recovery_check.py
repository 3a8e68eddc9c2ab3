"""The ``recovery`` check: whether the cluster recovered in time, and if not, whether the harness is to blame.

Only the system's own failure to recover makes it invalid.  It is unknown if there is anything that we could not heal,
did not observe or did not request.  Times when the harness was stalled do not count.  A server that refuses to start on
a file that we damaged is excused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np
from msgspec import structs

from harness.judge.answers_by_process import last_answers, last_begins
from harness.judge.damage import Damage, Damages
from harness.judge.logs.committed_prefix import falls
from harness.judge.logs.leader_complete import short_leaders
from harness.judge.logs.log_order import order_violations
from harness.judge.node_alarms import setup_failures
from harness.judge.recorded import Recorded
from harness.judge.recovery import (
    PAUSE_S,
    assess,
    assess_operations,
    assess_own,
    clients_decide,
    committed_by,
    last_heal,
    rule_of,
    silent_before,
)
from harness.judge.service import calls_in, codes_on_keys, services_since, wants_of, with_code
from history import SECOND, Check, Verdict
from history.codes import NEVER
from history.columns.operations import NONE, Operations
from history.metrics.awake_clock import AwakeClock, gaps
from history.records.finding import BeyondLog, Comeback, ShortLeader
from history.records.probes import last_commit
from history.records.recovery import (
    SLACK_S,
    HarnessCause,
    Reason,
    Recovery,
    RecoveryEvent,
    Rule,
    Service,
    Unproven,
    Want,
)
from reports.words.of_recovery import (
    CUT_OFF,
    cause_text,
    failure_text,
    lost_text,
    open_texts,
    refusals_text,
    required_text,
    restart_text,
    time_text,
    unhealed_text,
)

#: A violation at most this long (ns) before a node's last answer counts as lasting to the end, because the last answer
#: itself is not judged.
_STANDS_NS: Final = 1_500_000_000


@dataclass(frozen=True, slots=True)
class RecoveryFindings:
    """Findings since the last heal and since the load, in awake time (``history.metrics.awake_clock``).

    The clients' load continues after the last heal, and a node may fall behind during it.  So what was committed when
    the load ended must be reached as well.  ``unseen`` holds times without any probe, if the system has probes.
    ``unasked`` are nodes without a probe since the heal.  ``seconds`` is the observed time.  ``refused`` are nodes that
    did not start on a file that we damaged.  ``restarted`` holds the findings since all nodes were restarted at the
    end.
    """

    since_heal: Recovery
    since_load: Recovery
    clock: AwakeClock
    unseen: tuple[tuple[int, int], ...]
    unasked: tuple[str, ...]
    seconds: float
    refused: dict[str, Damage]
    restarted: RecoveryFindings | None = None

    @property
    def recovered(self) -> tuple[str, ...]:
        """The nodes that caught up after the last heal and hold something that can be compared."""
        heal = self.since_heal
        return tuple(node for node, at in heal.reached.items() if at is not None and node not in heal.logless)


def recovery_of(recorded: Recorded, damages: Damages) -> RecoveryFindings | None:
    """Return the findings, or None if the run was cut short before recovery."""
    moments = recorded.state.moments
    if "healed" not in moments or recorded.state.interrupted or "final-reads" not in moments:
        return None
    clock = recorded.clock
    swept = clock.at(moments["healed"])
    healed = last_heal(clock.receipts(recorded.receipts), swept)
    since_heal = _found(
        _before_the_restart(recorded), clock, _refused(recorded, damages),
        since=(healed, swept), until=moments["final-reads"], event=_event(recorded),
    )  # fmt: skip
    if "restarting" not in moments:
        return since_heal
    refused = _refused(recorded, damages, gone_at=moments["restarting"])
    if "restarted-reads" not in moments:
        of_restart = refused if recorded.state.restart_failed else {}
        return replace(since_heal, refused={**of_restart, **since_heal.refused})
    again = _found(
        recorded, clock, refused, since=(clock.at(moments["restarted"]),) * 2,
        until=moments["restarted-reads"], event="restart",
        committed_before=committed_by(recorded.of_members, moments["restarting"]),
    )  # fmt: skip
    return replace(since_heal, restarted=again)


def _refused(recorded: Recorded, damages: Damages, gone_at: int = -1) -> dict[str, Damage]:
    """Return the nodes that may have refused to start because of our damage.

    Their probes decide, or if there are none, what their clients got.
    """
    if any(probe.answered for probe in recorded.probes):
        return damages.refused(recorded.probes, gone_at)
    ops = recorded.operations
    last = {damage.node: ops.returned[ops.served & ops.node.equals(damage.node)][-1:] for damage in damages.refusable}
    return {
        damage.node: damage for damage in damages.refusable if (last[damage.node] <= max(damage.end, gone_at)).all()
    }


def _found(
    recorded: Recorded,
    clock: AwakeClock,
    refused: dict[str, Damage],
    *,
    since: tuple[int, int],
    until: int,
    event: RecoveryEvent,
    committed_before: int = -1,
) -> RecoveryFindings:
    """Return the findings since the last heal and since the end of the load (awake ns), until a moment of the run."""
    probes, operations = clock.probes(recorded.probes), clock.operations(recorded.operations)
    nodes = [node for node in recorded.keepers if node not in refused]
    of_members = clock.probes(recorded.of_members)
    system, rule = recorded.plan.under_test, rule_of(recorded.plan.under_test, of_members)
    # A home that is no node may be on one that did not start on a file that we damaged.
    with_clients = [*(node for node in recorded.serving if node not in refused), *(() if refused else recorded.homes)]
    calls, _ = calls_in(operations)
    wants = wants_of(recorded.plan.load, calls, with_clients if clients_decide(system, of_members) else ())

    def assessed(moment: int, services: Mapping[Want, Service]) -> Recovery:
        if system.recovered is not None:
            return assess_own(system.recovered, probes, nodes, moment, services)
        if rule == "operations":
            return assess_operations(moment, services)
        return assess(of_members, nodes, moment, services, committed_before, recorded.state.logless)

    def followed(moment: int, among: Operations, wants: Sequence[Want]) -> Recovery:
        services, unproven = _services(recorded, wants, moment, among, bool(refused))
        recovery = replace(assessed(moment, services), unproven=unproven, event=event, epoch_bits=system.epoch_bits)
        silent = silent_before(probes, nodes, moment) if event != "restart" else {}
        return replace(recovery, silent={node: clock.maybe_back(last) for node, last in silent.items()})

    healed, swept = since
    since_heal = followed(healed, operations, wants)
    final = operations.where(operations.phase.equals("final"))
    # A want that was served since the heal and was not requested again is known to have come back.
    asked_again = services_since(swept, final, recorded.plan.load)
    since_load = followed(swept, final, [want for want in wants if want in asked_again] or wants)
    probed = {probe.node for probe in probes if probe.time >= healed}
    end = max([clock.at(until), *(probe.time for probe in probes[-1:])])
    return RecoveryFindings(
        since_heal, since_load, clock,
        unseen=() if rule == "operations" else tuple(gaps((probe.time for probe in probes), healed, end)),
        unasked=tuple(node for node in since_heal.late_nodes if node not in probed),
        seconds=(end - healed) / 1e9,
        refused=refused,
    )  # fmt: skip


def _services(
    recorded: Recorded, wants: Sequence[Want], moment: int, operations: Operations, refused: bool
) -> tuple[dict[Want, Service], Unproven]:
    """Return how clients were served since a given time, and what cannot be held against the system.

    If some node ``refused`` to start on a file that we damaged, that node alone may have served a key.
    """
    load, system, limit = recorded.plan.load, recorded.plan.under_test, recorded.plan.recovery_time
    pause_s = min(PAUSE_S, limit / 4)
    since_moment = services_since(moment, operations, load, round(pause_s * SECOND))
    ever = cache(lambda: services_since(0, recorded.operations, load))  # over the whole run, and rarely needed
    enough = round((limit - pause_s) * SECOND)
    services: dict[Want, Service] = {}
    why: dict[Reason, list[Want]] = {}
    for want in wants:
        service = since_moment.get(want)
        if service is None:
            why.setdefault("unasked", []).append(want)
        elif want[1] is not None and not system.every_node_serves:
            if service.granted is None:
                why.setdefault("undeclared", []).append(want)
        elif service.granted is not None:
            services[want] = service
        elif want[1] is None and ever()[want].granted is None:
            why.setdefault("never", []).append(want)
        elif service.waited < enough:
            why.setdefault("briefly", []).append(want)
        else:
            services[want] = service
    lost, briefly = _keys_in_vain(recorded, moment, operations, moment + enough)
    if lost and refused:
        why["damaged"] = lost
    else:
        services |= dict.fromkeys(lost, Service(enough, None))
    if briefly:
        why.setdefault("briefly", []).extend(briefly)
    return services, tuple((reason, tuple(left)) for reason, left in why.items())


def _keys_in_vain(recorded: Recorded, moment: int, operations: Operations, over: int) -> tuple[list[Want], list[Want]]:
    """Return the reads and changes of objects that are lost, and those that were not requested long enough to say.

    Both were served before, but not since ``moment``, although clients that were served otherwise kept requesting them.
    They are lost if one more request failed that began after the time was ``over``, after an earlier request for the
    same had failed, and after its client had been served again.
    """
    load, workers = recorded.plan.load, max(recorded.plan.concurrency, len(recorded.serving))
    of_keys = codes_on_keys(load, operations)
    rows = np.flatnonzero((operations.invoked >= moment) & (of_keys >= 0))
    want, served = of_keys[rows], operations.served[rows]
    # A client may be served changes and not reads.
    client = want // len(operations.keys) * workers + operations.process[rows] % workers
    back = np.full(2 * workers, NEVER)
    np.minimum.at(back, client[served], operations.ended[rows[served]])
    in_vain = ~np.isin(want, want[served])
    if not in_vain.any():
        return [], []  # so that the whole run is searched only where that decides
    whole = recorded.operations
    before = codes_on_keys(load, whole)[whole.served]
    # A client that was not served at all says nothing about one object.
    told = in_vain & (back[client] != NEVER) & np.isin(want, before)
    lost, briefly = list[Want](), list[Want]()
    for code in dict.fromkeys(want[in_vain].tolist()):
        mine = told & (want == code)
        if not mine.any():
            continue
        late = max(over, int(operations.ended[rows[mine]].min()))
        again = (operations.invoked[rows[mine]] >= np.maximum(late, back[client[mine]])).any()
        (lost if again else briefly).append(("{} on {}".format(*with_code(operations, code)), None))
    return lost, briefly


def _event(recorded: Recorded) -> RecoveryEvent:
    """Return the event from which recovery is counted; if no fault may have been in effect, there was no heal."""
    healed = [receipt.healed for receipt in recorded.receipts if receipt.state != "skipped"]
    return "load" if not healed else "attempt" if None in healed else "heal"


def _before_the_restart(recorded: Recorded) -> Recorded:
    """Drop probes and operations after the restart at the end, which say nothing about recovery before it."""
    until = recorded.state.moments.get("restarting")
    if until is None:
        return recorded
    probes = [probe for probe in recorded.probes if probe.time < until]
    return replace(recorded, probes=probes, operations=recorded.operations.where(recorded.operations.invoked < until))


def recovery_check(recorded: Recorded, recoveries: RecoveryFindings | None, damages: Damages) -> Check:
    """Check recovery, independently of linearizability."""
    limit = recorded.plan.recovery_time
    rule: Rule = recoveries.since_heal.rule if recoveries else "indexes"
    by_clients = clients_decide(recorded.plan.under_test, recorded.of_members)
    required = required_text(_event(recorded), rule, limit, by_clients=by_clients)

    def check(verdict: Verdict, summary: str, *findings: Comeback) -> Check:
        kind = "recovered" if verdict == "valid" else "no-recovery"
        of_verdict = tuple(structs.replace(finding, verdict=verdict, kind=kind) for finding in findings)
        return Check("recovery", "check", verdict, required, summary, findings=of_verdict)

    state = recorded.state
    if state.unhealed:
        return check("unknown", unhealed_text(state.unhealed))
    if recoveries is None:
        return check("unknown", CUT_OFF)
    if restart := _restart_failed(recorded, damages):
        finding = _comeback(recoveries, recoveries.since_heal, recorded, recoveries.since_heal.behind)
        summary = restart_text(restart)
        if ours := _failed_set_up(recorded):
            return check("unknown", f"{summary}, but {cause_text(ours, limit)}", finding)
        return check("invalid", summary, finding)
    looked = [recoveries, recoveries.restarted] if recoveries.restarted else [recoveries]
    wrong = next(((each, failed) for each in looked if (failed := _failed(each, limit))), None)
    if wrong is None:
        if left := open_texts(*(since for each in looked for since in (each.since_heal, each.since_load))):
            return check("unknown", "; ".join(left))
        well = "; ".join(time_text(each.since_heal, each.since_load, limit) for each in looked)
        return check("valid", well + _refusals(*looked), _comeback(recoveries, recoveries.since_heal, recorded))
    where, recovery = wrong
    summary = failure_text(recovery, where.since_heal, where.since_load, limit)
    if ours := _harness_cause(where, recovery, recorded, limit):
        return check("unknown", f"{summary}, but {cause_text(ours, limit)}")
    lost = _lost(recorded, recovery)
    whole = _with_whole_logs(recorded, recovery, lost) if lost else []
    at_fault = sorted({*lost, *recovery.behind} - set(whole))
    if lost:
        summary = lost_text(lost, whole, summary)
    return check("invalid", summary + _refusals(where), _comeback(where, recovery, recorded, at_fault))


def _restart_failed(recorded: Recorded, damages: Damages) -> str | None:
    """Return why the system did not serve after the restart at the end; None if only damaged nodes failed."""
    reason = recorded.state.restart_failed
    began = recorded.state.moments.get("restarting")
    if reason is None or began is None:
        return reason
    back = {node for node, time in last_begins(recorded.probes).items() if time > began}
    away = set(recorded.keepers) - back
    return None if away and away <= {damage.node for damage in damages.refusable} else reason


def _failed(recoveries: RecoveryFindings, limit: float) -> Recovery | None:
    """Return the recovery that failed or took too long, or None."""
    heal, load = recoveries.since_heal, recoveries.since_load
    if heal.failed or load.failed:
        return heal if heal.failed else load
    slowest = max(heal, load, key=lambda recovery: recovery.took)
    return None if slowest.took <= limit + SLACK_S else slowest


def _refusals(*checked: RecoveryFindings) -> str:
    return refusals_text((node, damage.kind, damage.file) for span in checked for node, damage in span.refused.items())


def _harness_cause(
    recoveries: RecoveryFindings, recovery: Recovery, recorded: Recorded, limit: float
) -> HarnessCause | None:
    """Return why the harness may have missed a recovery; None if it cannot have."""
    if recoveries.unseen:
        return HarnessCause("unseen", seconds=max(end - begin for begin, end in recoveries.unseen) / 1e9)
    if recoveries.unasked:
        return HarnessCause("unasked", nodes=recoveries.unasked)
    last, late = {probe.node: probe for probe in recorded.probes}, recovery.late_nodes
    if late and not recovery.unserved and all(node in last and last[node].unreadable for node in late):
        return HarnessCause("unreadable", nodes=late, failure=str(last[late[0]].error))
    if failed := _failed_set_up(recorded):
        return failed
    refused = tuple(node for node in recorded.members if node in recoveries.refused)
    if 2 * len(refused) >= len(recorded.members) > 0:
        return HarnessCause("damaged", nodes=refused)
    if recorded.state.standstills and recoveries.seconds < limit:
        return HarnessCause("stalled", seconds=recoveries.seconds)
    return None


def _failed_set_up(recorded: Recorded) -> HarnessCause | None:
    """Return the first harness failure, if there is one."""
    failures = [*recorded.state.failures, *setup_failures(recorded)]
    return HarnessCause("failed", failure=failures[0]) if failures else None


def _lost(recorded: Recorded, recovery: Recovery) -> dict[str, ShortLeader | BeyondLog]:
    """Return a moment that shows the loss for each node that lost committed entries, if that is why recovery failed.

    If a leader lacked committed entries, the nodes that still hold them are the ones that cannot follow, so a node that
    is behind is not the one at fault.  The same holds if, at the end of the run, logs end below what their own nodes
    had committed.  Empty if all nodes are back, only late.
    """
    if recovery.seconds is not None:
        return {}
    lost: dict[str, ShortLeader | BeyondLog] = {
        leader.node: leader for leader in reversed(short_leaders(recorded.of_members))
    }
    last = last_answers(recorded.of_members)
    for violation in order_violations(recorded.of_members):
        if violation.above == "committed" and violation.time >= last[violation.node] - _STANDS_NS:
            lost.setdefault(violation.node, violation)
    return dict(sorted(lost.items()))


def _with_whole_logs(recorded: Recorded, recovery: Recovery, lost: Iterable[str]) -> list[str]:
    """Return the nodes that are behind but were never seen to lose a committed entry."""
    short = {*lost, *(fall.node for fall in falls(recorded.of_members))}
    return [node for node in recovery.behind if node not in short]


def _comeback(
    recoveries: RecoveryFindings, recovery: Recovery, recorded: Recorded, at_fault: Sequence[str] = ()
) -> Comeback:
    ops = recorded.operations
    served = int(ops.returned[ops.served].max(initial=NONE))
    ends = [
        ops.end,
        *(probe.time for probe in recorded.probes[-1:]),
        *(receipt.healed or receipt.started for receipt in recorded.receipts),
    ]
    by_clients, back = recovery.rule == "operations", recoveries.clock.maybe_back
    return Comeback(
        nodes=tuple(at_fault),
        unserved=tuple(kind for kind, node in recovery.unserved if node is None),
        behind=recovery.behind,
        healed_ns=recoveries.clock.back(recovery.healed_at),
        by_clients=by_clients,
        served_ns=back(recovery.served_again) if by_clients else None,
        target=recovery.target,
        leader_at_heal=recovery.leader,
        applied=recovery.applied,
        reached_ns={node: back(moment) for node, moment in recovery.reached.items()},
        seconds=recovery.seconds,
        last_commit_ns=last_commit(recorded.of_members),
        last_served_ns=None if served == NONE else served,
        end_ns=max(ends),
    ).graded
