"""The checks of what nodes report about themselves.

A check is left out if the system's nodes do not report the figures that it needs, and the results say so.  If the nodes
would report them but never answered, the check is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.judge.answers_by_process import reporting
from harness.judge.damage import Damages
from harness.judge.election_safety import check_terms, election_safety
from harness.judge.logs.committed_prefix import check_committed_prefix
from harness.judge.logs.leader_complete import leader_complete
from harness.judge.logs.log_order import log_order
from harness.judge.recorded import Recorded
from harness.judge.recovery_check import RecoveryFindings
from harness.judge.replicas import ComparisonPoint, replicas_agree
from history import Check
from reports.words.of_nodes import silent_check, without_checks_text


@dataclass(frozen=True, slots=True)
class _NodeCheck:
    """A check: its name, the probe fields that it needs, and the function that makes it."""

    name: str
    needs: tuple[str, ...]
    make: Callable[[], Check]


def node_checks(
    recorded: Recorded, recovery: RecoveryFindings | None, damages: Damages
) -> tuple[list[Check], list[str]]:
    """Return the checks, and a sentence for each reason why some are left out."""
    probes, moments = recorded.of_members, recorded.state.moments
    every = (
        _NodeCheck("replicas-agree", ("digest", "state_index"), lambda: replicas_agree(
            probes, quiet=moments.get("quiet"), ends=_ends(recovery, moments),
        )),
        _NodeCheck("election-safety", ("role", "term"), lambda: election_safety(probes, damages)),
        _NodeCheck("terms-kept", ("term",), lambda: check_terms(probes, damages)),
        _NodeCheck("leader-complete", ("log_end", "committed", "role", "term"),
                   lambda: leader_complete(probes, damages)),
        _NodeCheck("log-order", ("log_end", "committed"), lambda: log_order(probes, damages)),
        _NodeCheck("committed-kept", ("log_end", "committed"), lambda: check_committed_prefix(probes, damages)),
    )  # fmt: skip
    if recorded.plan.under_test.prober is None and not probes:
        return [], [without_checks_text([check.name for check in every])]
    if not any(probe.answered for probe in probes):
        return [silent_check(check.name) for check in every], []
    missing: dict[str, list[str]] = {}
    for check in every:
        if (figure := next((figure for figure in check.needs if not reporting(probes, figure)), None)) is not None:
            missing.setdefault(figure, []).append(check.name)
    left_out = {name for names in missing.values() for name in names}
    return [check.make() for check in every if check.name not in left_out], [
        without_checks_text(names, figure) for figure, names in missing.items()
    ]


def _ends(recovery: RecoveryFindings | None, moments: Mapping[str, int]) -> list[ComparisonPoint]:
    """Return the points at which contents are compared: after the last heal, and after a restart."""
    if recovery is None:
        return []
    ends = [ComparisonPoint("the last heal", recovery.recovered, moments["healed"], moments.get("quiet"))]
    if recovery.restarted is not None:
        nodes = recovery.restarted.recovered
        ends.append(ComparisonPoint("the restart", nodes, moments["restarted"], moments.get("restarted-quiet")))
    return ends
