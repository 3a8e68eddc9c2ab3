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

from msgspec import structs

from harness.judge.answers_by_process import last_answers, last_begins
from harness.judge.damage import Damage, Damages
from harness.judge.logs.committed_prefix import falls
from harness.judge.logs.leader_complete import short_leaders
from harness.judge.logs.log_order import order_violations
from harness.judge.node_alarms import setup_failures
from harness.judge.recorded import Recorded
from harness.judge.recovery import (
    HEAL,
    LOAD,
    PAUSE_S,
    RESTART,
    TRIED,
    Recovery,
    assess,
    assess_operations,
    assess_own,
    clients_decide,
    committed_by,
    last_heal,
    rule_of,
    silent_before,
)
from harness.judge.service import KeyWant, Service, Want, on_key, services_since, wants_of, wants_text
from harness.workloads.transactions import called
from history import SECOND, Check, Operation, Verdict
from history.metrics.awake_clock import AwakeClock, gaps
from history.records.finding import Comeback
from history.records.indexes import index_text
from history.records.probes import last_commit
from history.records.text import and_listed
from reports.words.of_nodes import beyond_text, short_leader_text

#: A probe may show this much later (s) what a node reached within the limit.
SLACK_S: Final = 1.0
_ASKED: Final = {
    "indexes": "every kind of operation succeeds and every node's applied index reaches what was committed then",
    "own": "every kind of operation succeeds and every node has caught up, by the system's own rule",
    "operations": "every kind of operation succeeds",
}
_OF_NODES: Final = ", and every node serves its own clients reads and changes"
_SINCE: Final = {HEAL: "last heal", TRIED: "last attempt to heal", LOAD: "end of the load"}
#: The reasons why something that clients did not get is not held against the system.
UNASKED: Final = "not requested again"
NEVER: Final = "never succeeded, so there is nothing to recover to"
UNDECLARED: Final = (
    "not served again, and the system does not declare whether every node serves its own clients (every_node_serves)"
)
DAMAGED: Final = "not served again, perhaps because of the file that we damaged"
BRIEFLY: Final = "requested without success, but not for the whole recovery time"
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
    refused: dict[str, str]
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
    found = _found(
        _before_the_restart(recorded), clock, _refused(recorded, damages),
        since=(healed, swept), until=moments["final-reads"], event=_event(recorded),
    )  # fmt: skip
    if "restarting" not in moments:
        return found
    refused = _refused(recorded, damages, gone_at=moments["restarting"])
    if "restarted-reads" not in moments:
        lines = _refusal_lines(refused) if recorded.state.restart_failed else {}
        return replace(found, refused={**lines, **found.refused})
    again = _found(
        recorded, clock, refused, since=(clock.at(moments["restarted"]),) * 2,
        until=moments["restarted-reads"], event=RESTART,
        committed_before=committed_by(recorded.probes, moments["restarting"]),
    )  # fmt: skip
    return replace(found, restarted=again)


def _refused(recorded: Recorded, damages: Damages, gone_at: int = -1) -> dict[str, Damage]:
    """Return the nodes that may have refused to start because of our damage.

    Their probes decide, or if there are none, what their clients got.
    """
    if any(probe.answered for probe in recorded.probes):
        return damages.refused(recorded.probes, gone_at)
    last = {op.node: op.returned or 0 for op in recorded.operations if op.served}
    return {one.node: one for one in damages.refusable if last.get(one.node, -1) <= max(one.end, gone_at)}


def _found(
    recorded: Recorded,
    clock: AwakeClock,
    refused: dict[str, Damage],
    *,
    since: tuple[int, int],
    until: int,
    event: str,
    committed_before: int = -1,
) -> RecoveryFindings:
    """Return the findings since the two times (awake ns), until a moment of the run."""
    probes, operations = clock.probes(recorded.probes), clock.operations(recorded.operations)
    nodes = [node for node in recorded.keepers if node not in refused]
    system, rule = recorded.plan.under_test, rule_of(recorded.plan.under_test, recorded.probes)
    # A home that is no node may be on one that did not start on a file that we damaged.
    with_clients = [*(node for node in recorded.serving if node not in refused), *(() if refused else recorded.homes)]
    calls = {(called(operation.f, operation.value), operation.node) for operation in operations}
    wants = wants_of(recorded.plan.load, calls, with_clients if clients_decide(system, recorded.probes) else ())

    def assessed(moment: int, services: Mapping[Want, Service]) -> Recovery:
        if system.recovered is not None:
            return assess_own(system.recovered, probes, nodes, moment, services)
        if rule == "operations":
            return assess_operations(moment, services)
        return assess(probes, nodes, moment, services, committed_before, recorded.state.logless)

    def followed(moment: int, among: Sequence[Operation], wants: Sequence[Want]) -> Recovery:
        services, unproven = _services(recorded, wants, moment, among, bool(refused))
        found = replace(assessed(moment, services), unproven=unproven, event=event, epoch_bits=system.epoch_bits)
        silent = silent_before(probes, nodes, moment) if event != RESTART else {}
        return replace(found, silent={node: clock.maybe_back(last) for node, last in silent.items()})

    healed, swept = since
    since_heal = followed(healed, operations, wants)
    final = [operation for operation in operations if operation.phase == "final"]
    # A want that was served since the heal and was not requested again is known to have come back.
    asked_again = services_since(swept, final, recorded.plan.load)
    since_load = followed(swept, final, [want for want in wants if want in asked_again] or wants)
    asked = {probe.node for probe in probes if probe.time >= healed}
    end = max([clock.at(until), *(probe.time for probe in probes[-1:])])
    return RecoveryFindings(
        since_heal, since_load, clock,
        unseen=() if rule == "operations" else tuple(gaps((probe.time for probe in probes), healed, end)),
        unasked=tuple(node for node in since_heal.late_nodes if node not in asked),
        seconds=(end - healed) / 1e9,
        refused=_refusal_lines(refused),
    )  # fmt: skip


def _services(
    recorded: Recorded, wants: Sequence[Want], moment: int, operations: Sequence[Operation], refused: bool
) -> tuple[dict[Want, Service], str]:
    """Return how clients were served since a moment, and what cannot be held against the system, in words.

    If some node ``refused`` to start on a file that we damaged, that node alone may have served a key.
    """
    load, system, limit = recorded.plan.load, recorded.plan.under_test, recorded.plan.recovery_time
    pause_s = min(PAUSE_S, limit / 4)
    found = services_since(moment, operations, load, round(pause_s * SECOND))
    ever = cache(lambda: services_since(0, recorded.operations, load))  # over the whole run, and rarely needed
    enough = round((limit - pause_s) * SECOND)
    services: dict[Want, Service] = {}
    why: dict[str, list[Want]] = {}
    for want in wants:
        service = found.get(want)
        if service is None:
            why.setdefault(UNASKED, []).append(want)
        elif want[1] is not None and not system.every_node_serves:
            if service.granted is None:
                why.setdefault(UNDECLARED, []).append(want)
        elif service.granted is not None:
            services[want] = service
        elif want[1] is None and ever()[want].granted is None:
            why.setdefault(NEVER, []).append(want)
        elif service.waited < enough:
            why.setdefault(BRIEFLY, []).append(want)
        else:
            services[want] = service
    lost, briefly = _keys_in_vain(recorded, moment, operations, moment + enough)
    if lost and refused:
        why[DAMAGED] = lost
    else:
        services |= dict.fromkeys(lost, Service(enough, None))
    if briefly:
        why.setdefault(BRIEFLY, []).extend(briefly)
    return services, "; ".join(f"{wants_text(left)} {reason}" for reason, left in why.items())


def _keys_in_vain(
    recorded: Recorded, moment: int, operations: Sequence[Operation], over: int
) -> tuple[list[Want], list[Want]]:
    """Return the reads and changes of registers that are lost, and those that were not requested long enough to say.

    Both were served once, and since a moment only requested without success, by clients that were served with others.
    They are lost if a request also failed that began when the time was ``over``, another one had failed, and the same
    client had been served again.
    """
    load, workers = recorded.plan.load, max(recorded.plan.concurrency, len(recorded.serving))
    back: dict[tuple[str, int], int] = {}
    since, failed = set[KeyWant](), dict[KeyWant, list[Operation]]()
    for op in operations:
        if op.invoked < moment or (want := on_key(load, op.f, op.value, op.key)) is None:
            continue
        if op.served:
            since.add(want)
            client = want[0], op.process % workers
            back[client] = min(back.get(client, op.ended), op.ended)
        else:
            failed.setdefault(want, []).append(op)
    in_vain = {want: requests for want, requests in failed.items() if want not in since}
    if not in_vain:
        return [], []  # so that the whole run is searched only where that decides
    before = {on_key(load, op.f, op.value, op.key) for op in recorded.operations if op.served}
    lost, briefly = list[Want](), list[Want]()
    for want, requests in in_vain.items():
        side, key = want
        # A client that was not served at all says nothing about one register.
        asked = [(op, back[client]) for op in requests if (client := (side, op.process % workers)) in back]
        if not asked or want not in before:
            continue
        late = max(over, min(op.ended for op, _ in asked))
        again = any(op.invoked >= max(late, served_at) for op, served_at in asked)
        (lost if again else briefly).append((f"{side} on {key}", None))
    return lost, briefly


def _refusal_lines(refused: dict[str, Damage]) -> dict[str, str]:
    return {node: f"{node} did not start again on {damage.describe()}" for node, damage in refused.items()}


def _event(recorded: Recorded) -> str:
    """Return the event from which recovery is counted; if no fault may have been in effect, there was no heal."""
    healed = [receipt.healed for receipt in recorded.receipts if receipt.state != "skipped"]
    return LOAD if not healed else TRIED if None in healed else HEAL


def _before_the_restart(recorded: Recorded) -> Recorded:
    """Drop probes and operations after the restart at the end, which say nothing about recovery before it."""
    until = recorded.state.moments.get("restarting")
    if until is None:
        return recorded
    probes = [probe for probe in recorded.probes if probe.time < until]
    return replace(recorded, probes=probes, operations=[op for op in recorded.operations if op.invoked < until])


def recovery_check(recorded: Recorded, found: RecoveryFindings | None, damages: Damages) -> Check:
    """Check recovery, independently of linearizability."""
    limit = recorded.plan.recovery_time
    asked = (
        f"within {limit:g} s of the {_SINCE[_event(recorded)]} {_ASKED[found.since_heal.rule if found else 'indexes']}"
        + (_OF_NODES if clients_decide(recorded.plan.under_test, recorded.probes) else "")
    )

    def check(verdict: Verdict, seen: str, *findings: Comeback) -> Check:
        kind = "recovered" if verdict == "valid" else "no-recovery"
        of_verdict = tuple(structs.replace(one, verdict=verdict, kind=kind) for one in findings)
        return Check("recovery", "check", verdict, asked, seen, findings=of_verdict)

    state = recorded.state
    if state.unhealed:
        return check("unknown", f"could not be healed by the harness: {'; '.join(state.unhealed)}")
    if found is None:
        return check("unknown", "the run ended too early to tell")
    if restart := _restart_failed(recorded, damages):
        finding = _comeback(found, found.since_heal, recorded, found.since_heal.behind)
        seen = f"did not start again after all were restarted: {restart}"
        failed = _failed_set_up(recorded)
        return check("unknown", f"{seen}, but {failed}", finding) if failed else check("invalid", seen, finding)
    looked = [found, found.restarted] if found.restarted else [found]
    wrong = next(((one, *failure) for one in looked if (failure := _failure(one, limit))), None)
    if wrong is None:
        open_ = [why for one in looked for since in (one.since_heal, one.since_load) for why in since.open]
        if open_:
            return check("unknown", "; ".join(dict.fromkeys(open_)))
        well = "; ".join(_time_sentence(one, limit) for one in looked)
        return check("valid", well + _refusals(*looked), _comeback(found, found.since_heal, recorded))
    where, recovery, seen = wrong
    if ours := _harness_cause(where, recorded, limit):
        return check("unknown", f"{seen}, but {ours}")
    lost = _lost(recorded, recovery)
    whole = _with_whole_logs(recorded, recovery, lost) if lost else []
    at_fault = sorted({*lost, *recovery.behind} - set(whole))
    if lost:
        seen = "; ".join([*lost.values(), seen]) + (f" with whole logs: {and_listed(whole)}" if whole else "")
    return check("invalid", seen + _refusals(where), _comeback(where, recovery, recorded, at_fault))


def _restart_failed(recorded: Recorded, damages: Damages) -> str | None:
    """Return why the system did not serve after the restart at the end; None if only damaged nodes failed."""
    reason = recorded.state.restart_failed
    began = recorded.state.moments.get("restarting")
    if reason is None or began is None:
        return reason
    back = {node for node, time in last_begins(recorded.probes).items() if time > began}
    away = set(recorded.keepers) - back
    return None if away and away <= {damage.node for damage in damages.refusable} else reason


def _failure(found: RecoveryFindings, limit: float) -> tuple[Recovery, str] | None:
    """Return the recovery that failed and a sentence about it, or None."""
    heal, load = found.since_heal, found.since_load
    if heal.failed:
        after = "after all were restarted " if heal.event == RESTART else ""
        return heal, after + heal.sentence() + _late(heal, limit)
    if load.failed:
        before = f"{heal.reached_sentence()}, but " if heal.seconds is not None and not heal.open else ""
        return load, f"{before}after the load {load.sentence()}"
    slowest = max(heal, load, key=lambda recovery: recovery.took)
    if slowest.took <= limit + SLACK_S:
        return None
    left = dict.fromkeys([*heal.open, *load.open])
    if not left:
        return slowest, _time_sentence(found, limit)
    return slowest, "; ".join(
        [_part_that_was_late(slowest, "the load" if slowest is load else heal.event, limit), *left]
    )


def _late(heal: Recovery, limit: float) -> str:
    """If nodes are missing, say whether the other nodes, too, served again only after the limit."""
    if heal.served_again is None or heal.service_took <= limit + SLACK_S:
        return ""
    took = (heal.served_again - heal.healed_at) / SECOND
    return f"; operations succeeded again only {took:.1f} s after {heal.event}"


def _part_that_was_late(recovery: Recovery, event: str, limit: float) -> str:
    """Say what came back only after the limit, if not everything could be observed."""
    if recovery.service_took > limit + SLACK_S:
        return f"operations succeeded again only {recovery.service_took:.1f} s after clients asked for them"
    return f"the nodes caught up only {recovery.took:.1f} s after {event}"


def _took(recovery: Recovery) -> float:
    assert recovery.seconds is not None
    return recovery.seconds


def _time_sentence(found: RecoveryFindings, limit: float) -> str:
    heal, load = found.since_heal, found.since_load
    seen, late = heal.reached_sentence(), max(heal.took, load.took)
    if _took(load) > max(_took(heal), limit):
        at = f"at {index_text(load.target, load.epoch_bits)} " if load.rule == "indexes" else ""
        seen += f", {'but' if late > limit + SLACK_S else 'and'} {at}only {_took(load):.1f} s after the load"
    if limit < late <= limit + SLACK_S:
        seen += f", which counts as within {limit:g} s: probes report up to {SLACK_S:g} s late"
    return seen


def _refusals(*found: RecoveryFindings) -> str:
    lines = dict.fromkeys(line for one in found for line in one.refused.values())
    return "".join(f"; {line}, which is allowed" for line in lines)


def _harness_cause(found: RecoveryFindings, recorded: Recorded, limit: float) -> str | None:
    """Return why the harness may have missed a recovery; None if it cannot have."""
    if found.unseen:
        begin, end = max(found.unseen, key=lambda span: span[1] - span[0])
        return f"the harness probed no node for {(end - begin) / 1e9:.1f} s of that time"
    if found.unasked:
        return f"the harness never probed {and_listed(found.unasked)} after the heal"
    if failed := _failed_set_up(recorded):
        return failed
    refused = [node for node in recorded.members if node in found.refused]
    if 2 * len(refused) >= len(recorded.members) > 0:
        return f"injected faults damaged files of {and_listed(refused)}, without which no quorum is left"
    if recorded.state.standstills and found.seconds < limit:
        return f"the harness was awake for only {found.seconds:.1f} s of the {limit:g} s"
    return None


def _failed_set_up(recorded: Recorded) -> str:
    """Return the first harness failure in words, or an empty string."""
    failures = [*recorded.state.failures, *setup_failures(recorded)]
    return f"the harness failed ({failures[0]})" if failures else ""


def _lost(recorded: Recorded, recovery: Recovery) -> dict[str, str]:
    """Return a sentence for each node that lost committed entries, if that is why the cluster did not recover.

    If a leader lacked committed entries, the nodes that still hold them are the ones that cannot follow, so a node that
    is behind is not the one at fault.  The same holds if, at the end of the run, logs end below what their own nodes
    had committed.  Empty if all nodes are back, only late.
    """
    if recovery.seconds is not None:
        return {}
    lost = {one.node: short_leader_text(one) for one in reversed(short_leaders(recorded.probes))}
    last = last_answers(recorded.probes)
    for violation in order_violations(recorded.probes):
        if violation.above == "committed" and violation.time >= last[violation.node] - _STANDS_NS:
            lost.setdefault(violation.node, beyond_text(violation))
    return dict(sorted(lost.items()))


def _with_whole_logs(recorded: Recorded, recovery: Recovery, lost: Iterable[str]) -> list[str]:
    """Return the nodes that are behind but were never seen to lose a committed entry."""
    short = {*lost, *(fall.node for fall in falls(recorded.probes))}
    return [node for node in recovery.behind if node not in short]


def _comeback(
    found: RecoveryFindings, recovery: Recovery, recorded: Recorded, at_fault: Sequence[str] = ()
) -> Comeback:
    served = [one.returned for one in recorded.operations if one.served and one.returned is not None]
    ends = [
        *(one.ended for one in recorded.operations),
        *(probe.time for probe in recorded.probes[-1:]),
        *(receipt.healed or receipt.started for receipt in recorded.receipts),
    ]
    by_clients, back = recovery.rule == "operations", found.clock.maybe_back
    return Comeback(
        nodes=tuple(at_fault),
        unserved=tuple(kind for kind, node in recovery.unserved if node is None),
        behind=recovery.behind,
        healed_ns=found.clock.back(recovery.healed_at),
        by_clients=by_clients,
        served_ns=back(recovery.served_again) if by_clients else None,
        target=recovery.target,
        leader_at_heal=recovery.leader,
        applied=recovery.applied,
        reached_ns={node: back(moment) for node, moment in recovery.reached.items()},
        seconds=recovery.seconds,
        last_commit_ns=last_commit(recorded.probes),
        last_served_ns=max(served, default=None),
        end_ns=max(ends, default=0),
    ).graded
