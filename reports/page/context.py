"""The variables of the report's template, grouped by part of the page.

A part that cannot be made is left out and named in the run's notes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlencode

from history import node_logs
from history.metrics.recovery import CALM_S
from history.records.caveats import is_least, violations_counted
from history.records.operations import TXN
from history.records.settings import options_of
from history.records.violations import checks_looking
from reports.analysis import elections, figures, node_timeline, outages, snapshots, topology
from reports.analysis.faults import late_of, summaries_of
from reports.analysis.findings import (
    ROOM_AROUND_S,
    Drawn,
    around,
    examples_of,
    recorded_examples,
    recovery_of,
    violating_keys,
    violation_count,
    violation_times_of,
)
from reports.analysis.invariant_violations import InvariantViolation, invariant_violations
from reports.load.check_rows import check_rows, checks_of, logs_gone
from reports.load.cut_record import cut_of, is_cut
from reports.load.last_valid import last_valid_run
from reports.load.promises import behind_checks, broken_in, promises_of
from reports.load.run import LoadedRun, about_of, commands_of, system_of
from reports.load.staleness import digest_of
from reports.load.standstills import still_texts
from reports.page.links import links_of
from reports.page.series import data_of, operations_of
from reports.page.words import words_of
from reports.story.aftermath import outages_text
from reports.story.breaks import Break
from reports.story.caveats import caveats_text
from reports.story.diagnosis import Diagnosis, diagnosis_of
from reports.story.planted_bug import (
    bug_of,
    failed_beside,
    grouped,
    longer,
    meaning_of,
    try_again,
    verdict_shown,
    word_of,
)
from reports.story.scope import scope_of
from reports.story.undecided import undecided
from reports.style.format import compact
from reports.text import recovery as recovery_text
from reports.text.parts import known_text

_Part: TypeAlias = Callable[[str, Callable[[], Any], Any], Any]

MAX_TOPOLOGIES: Final = 24
CHECK_PLACES: Final = {
    "linearizable": "coverage",
    "isolation": "coverage",
    "recovery": "faults",
    "replicas-agree": "charts",
    "election-safety": "charts",
    "terms-kept": "charts",
    "leader-complete": "charts",
    "log-order": "charts",
    "committed-kept": "charts",
    "node-logs": "logs",
    "operations": "coverage",
    "under-fault": "faults",
    "read-back": "coverage",
    "faults": "faults",
    "final-reads": "coverage",
    "kept-pace": "coverage",
}


def head_context(drawn: Drawn) -> dict[str, Any]:
    """Return the variables of the head: the verdict, what broke and when, what to look at next, the checks."""
    run = drawn.run
    part: _Part = run.notes.attempt
    diagnosis = part("diagnosis", lambda: diagnosis_of(drawn), None)
    sections: list[InvariantViolation] = part("findings about nodes", lambda: invariant_violations(drawn), [])
    breaks = grouped(run, diagnosis.breaks if diagnosis else ())
    of_clients = next((row["name"] for row in check_rows(run.results)), "")
    return {
        "word": word_of(run),
        "verdict_class": verdict_shown(run).replace(" ", "-"),
        "place": f"{run.files.root.resolve().parent.name}/{run.name}",
        "before": part("last valid run", lambda: before_of(run), None),
        "facts": part("facts", lambda: facts_of(run), []),
        "checks": part("checks", lambda: checks_of(run), []),
        "promises_behind": part("promises", lambda: behind_checks(run, of_clients), {}),
        "of_clients": of_clients,
        "system": system_of(run),
        "invariant_violations": sections,
        "diagnosis": diagnosis,
        "still": part("standstills", lambda: still_texts(run), []),
        "known_defects": known_text(run.results),
        "outage": part("outages", lambda: outages_text(drawn), ""),
        "undecided": part("headlines", lambda: undecided(run), None),
        "sections": sections_of(breaks, sections),
        "breaks": breaks,
        "told": told_of(diagnosis),
        "headlined": "\n".join(break_.whole for break_ in diagnosis.breaks) if diagnosis else "",
        "about": about_of(run),
        "places": part("headlines", lambda: places_of(run, diagnosis, sections), {}),
        "meaning": meaning_of(run),
        "scope": None if diagnosis or run.failure else part("what was tested", lambda: scope_of(drawn), None),
        "failed_beside": failed_beside(run),
        "try_again": try_again(run),
        "recovery_title": next(
            (one.title.capitalize() for _, ones in breaks for one in ones if one.place == "recovery"), "No recovery"
        ),
        "longer": part("commands", lambda: longer(run), ""),
        "bug": bug_of(run),
        "cut": part("counts", lambda: cut_of(run), ""),
    }


def violations_context(drawn: Drawn) -> dict[str, Any]:
    """Return the variables of the sections about counterexamples, nodes and recovery."""
    run = drawn.run
    part: _Part = run.notes.attempt
    return {
        "examples": part("counterexamples", lambda: examples_of(run), []),
        "violation_count": part("counterexamples", lambda: violation_count(run), 0),
        "broken_in": lambda case: part("promises", lambda: broken_in(promises_of(run), case.check, case.example), []),
        "violations_counted": part("counterexamples", lambda: violations_counted(run.results), ""),
        "caveats": part("counterexamples", lambda: caveats_text(run), ""),
        "violating_keys": part("counterexamples", lambda: violating_keys(run), []),
        "violation_times": part("counterexamples", lambda: violation_times_of(run), ""),
        "marked_text": part("marks of violations", lambda: marked_text(drawn), ""),
        "around": lambda onset: part(
            "moments", lambda: around(drawn, onset), (max(onset - ROOM_AROUND_S, 0.0), onset + ROOM_AROUND_S)
        ),
        "last_statuses": part("replica progress", lambda: node_timeline.last_statuses(drawn.timelines), []),
        "recovery": part("recovery", lambda: recovery_of(drawn), None),
    }


def charts_context(drawn: Drawn) -> dict[str, Any]:
    """Return the variables of the charts, the figures and the table of faults."""
    run = drawn.run
    part: _Part = run.notes.attempt
    return {
        "data": part("data of the charts", lambda: data_of(drawn), ""),
        "packed_operations": part("operations", lambda: operations_of(drawn), ""),
        "late": part("recovery figures", lambda: late_of(run), {}),
        "calm": part("topology", lambda: _network(topology.network(run.nodes, {}, ()), None), None),
        "counts": part("counts", lambda: figures.counts_of(run.operations), []),
        "errors": part("errors", lambda: figures.errors_of(run.operations), []),
        "snapshots": part("snapshots", lambda: snapshots.counts_of(drawn.snapshots), {}),
        "dead": [timeline.node for timeline in drawn.timelines if timeline.without],
        "roles_seen": {stretch.role for timeline in drawn.timelines for stretch in node_timeline.stretches(timeline)},
        "roles_known": node_timeline.have_roles(drawn.timelines),
        "lag_known": figures.lag_of(run.state.get("lag_ms"), run.end) is not None,
        "progress_known": node_timeline.have_indexes(drawn.timelines),
        "elections": part("elections", lambda: elections.elections_of(drawn.timelines), None),
        "stood_still": bool(run.clock.spans),
        "transactions": TXN in run.operations.f.names,
        "is_cut": part("counts", lambda: is_cut(run), False),  # noqa: FBT003
        "services": part("outages", lambda: drawn.services, []),
        "lasting": part("outages", lambda: lasting_of(drawn), {}),
        "unapplied": part("counts", lambda: run.operations.unapplied, 0),
        "slower": part("outages", lambda: slower_of(drawn), {}),
        "calm_s": CALM_S,
        "back": {w.id: recovery_text.way_back(asdict(w), asked=bool(w.asked)) for w in drawn.windows},
        "costs": part("recovery figures", lambda: recovery_text.costs_of(drawn), []),
        "topologies": part("topology", lambda: topologies_of(drawn), []),
        "does": summaries_of(drawn.windows),
    }


def record_context(drawn: Drawn) -> dict[str, Any]:
    """Return the variables of the page's end: glossary, commands, files and logs."""
    run = drawn.run
    part: _Part = run.notes.attempt
    return {
        "words": part("words", lambda: words_of(drawn), []),
        "commands": part("commands", lambda: commands_of(run.plan, faults=bool(run.receipts)), []),
        "links": part("links", lambda: links_of(run.files), []),
        "logs_held": bool(part("logs", lambda: node_logs.log_files(run.files), [])),
        "logs_gone": part("logs", lambda: logs_gone(run), False),  # noqa: FBT003
        "tails": part("logs", lambda: tails_of(run), []),
        "digest": part("digest of the results", lambda: digest_of(run.results), ""),
    }


def before_of(run: LoadedRun) -> dict[str, str] | None:
    """Return links to the last valid run of the same plan and to the comparison with it; None if there is none."""
    name = last_valid_run(run.files, run.plan)
    if name is None:
        return None
    test = run.files.root.resolve().parent.name
    pair = urlencode({"a": f"{test}/{name}", "b": f"{test}/{run.name}"})
    return {"name": name, "href": f"../{quote(name)}/report.html", "compare": f"../../../compare.html?{pair}"}


def places_of(run: LoadedRun, diagnosis: Diagnosis | None, sections: Sequence[InvariantViolation]) -> dict[str, str]:
    """Map each check and gate to its part of the page: its section if it failed, else where its figures are."""
    known = CHECK_PLACES if run.recorded else {}
    failed = {name: break_.place for break_ in diagnosis.breaks for name in break_.checks} if diagnosis else {}
    # The sentence about several checks links to only one section, so link each check to its own.
    own = {section.name: f"invariant-{number}" for number, section in enumerate(sections, 1)}
    return {**known, **failed, **own}


def sections_of(breaks: Sequence[tuple[str, Sequence[Break]]], nodes: Sequence[InvariantViolation]) -> list[str]:
    """Return the sections of what broke, in the order of the sentences at the head of the page.

    The sections about ``nodes`` are numbered.  Sections without a sentence come last.
    """
    own = {violation.name: f"invariant-{number}" for number, violation in enumerate(nodes, 1)}
    told: list[str] = []
    for break_ in (break_ for _, ones in breaks for break_ in ones):
        told += [
            "counterexample" if break_.is_drawn else break_.place,
            *(own[name] for name in break_.checks if name in own),
        ]
    every = ["counterexample", *own.values(), "recovery"]
    return list(dict.fromkeys([*(place for place in told if place in every), *every]))


def told_of(diagnosis: Diagnosis | None) -> dict[str, list[str]]:
    """Map each section about something that broke to the sentences that its headlines leave out.

    The key "" collects the texts without a section of their own.
    """
    told: dict[str, list[str]] = {}
    for break_ in diagnosis.breaks if diagnosis else ():
        has_section = break_.is_drawn or break_.place.startswith(("invariant", "recovery"))
        if texts := [text for text in (break_.rest, break_.detail) if text]:
            told.setdefault(break_.place if has_section else "", []).extend(texts)
    return told


def facts_of(run: LoadedRun) -> list[tuple[str, str]]:
    """Return the names and values that identify the run, without values that were not recorded."""
    nemesis = run.plan.get("nemesis")
    system = run.environment.get("system")
    looking = checks_looking(run.plan) & {row["name"] for row in checks_of(run)}
    rows = [
        ("test", run.test),
        ("run", run.name),
        ("nemesis", (", ".join(map(str, nemesis)) or "none") if isinstance(nemesis, list) else nemesis),
        ("system", system or run.plan.get("version")),
        ("options", options_of(run.plan)),
        ("planted bug", run.plan.get("planted_bug")),
        ("checks for the planted bug", ", ".join(sorted(looking)) if run.plan.get("planted_bug") else ""),
        ("seed", run.seed),
        ("started", run.started),
        ("length", f"{run.end / 1e9:.1f} s" if run.recorded else ""),
    ]
    return [(title, compact(value) if isinstance(value, list | dict) else str(value)) for title, value in rows if value]


def marked_text(drawn: Drawn) -> str:
    """Say how many of the violations have a mark in charts and timeline."""
    recorded, total, framed = len(recorded_examples(drawn.run)), violation_count(drawn.run), len(examples_of(drawn.run))
    text = f"all {recorded:,} marked" if recorded != 1 else "it is marked"
    least = is_least(drawn.run.results)
    if least:
        text = f"the {recorded:,} that were found are marked, and there may be more"
    if total > recorded:
        many = f"{'at least ' if least else ''}{total:,}"
        text = f"{recorded:,} of {many} marked, the earliest of each key; the results do not say when the others were"
    return f"{text}; the operations of {framed} are framed" if framed < recorded else text


def lasting_of(drawn: Drawn) -> dict[int, list[outages.Outage]]:
    """Map each fault's id to the outages that its row lists."""
    return outages.by_fault(outages.outages_of(drawn.services), drawn.windows, drawn.run.end / 1e9)


def slower_of(drawn: Drawn) -> dict[int, list[tuple[str, tuple[str, str]]]]:
    """Map each fault's id to the kinds whose outage lasted beyond its heal, and when each recovered.

    The figures over all kinds show only the kind that recovered first.
    """
    lasting = lasting_of(drawn)
    slower: dict[int, list[tuple[str, tuple[str, str]]]] = {}
    for window in drawn.windows:
        over = (
            outage.kind
            for outage in lasting.get(window.id, ())
            if window.healed and outage.stop > window.healed > outage.start
        )
        for kind in dict.fromkeys(over):
            figures = {"state": window.state, "healed": window.healed, **window.kinds.get(kind, {})}
            back = recovery_text.way_back(figures, asked=kind in window.asked)
            slower.setdefault(window.id, []).append((kind, back))
    return slower


def topologies_of(drawn: Drawn) -> list[dict[str, Any]]:
    """Lay out the network during each installed fault on a picture of 200 by 200."""
    shown = [window for window in drawn.windows if window.installed][:MAX_TOPOLOGIES]
    nodes = drawn.run.nodes
    return [{"window": w, **_network(topology.topology_of(w, nodes, drawn.windows), w.leader)} for w in shown]


def _network(laid: topology.Topology, leader: str | None) -> dict[str, Any]:
    def at(node: str) -> tuple[float, float]:
        x, y = laid.positions[node]
        return 30 + 140 * x, 30 + 140 * y

    links = []
    for link in laid.links:
        (x1, y1), (x2, y2) = at(link.source), at(link.target)
        length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1.0)
        dx, dy = (x2 - x1) / length * 17, (y2 - y1) / length * 17
        links.append({"state": link.state, "x1": x1 + dx, "y1": y1 + dy, "x2": x2 - dx, "y2": y2 - dy})
    points = [
        {
            "name": node,
            "x": at(node)[0],
            "y": at(node)[1],
            "struck": node in laid.struck,
            "leader": node == leader,
        }
        for node in laid.positions
    ]
    return {"links": links, "nodes": points}


def tails_of(run: LoadedRun) -> list[tuple[str, str, list[str]]]:
    """Return (node, file, last lines) of the harness's log and of at most 16 node logs, without rotated ones."""
    tails = [
        (node, path.name, node_logs.tail(run.recording, path, 12))
        for node, path in node_logs.log_files(run.files, rotated=False)[:16]
    ]
    if run.files.log.is_file():
        tails.insert(
            0, ("harness", run.files.log.name, node_logs.tail(run.recording, run.files.log, 40 if run.failure else 12))
        )
    return tails
