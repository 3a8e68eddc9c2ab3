"""Known defects of a system under test, and the marks by which a violation is recognised as one.

The kind of a violation is not enough: a new defect of the same kind would pass for an old one.  So a known defect has a
fingerprint: the kinds of violation that it causes, and at least one of the following.  A line that appears in the
nodes' own logs when it strikes; the faults, if only some can trigger it; the kinds that prove it, if healthy runs also
write that line or nothing is logged; the versions, if a later one fixes it and nothing is logged.  Defects are defined
once, in TOML, and suites refer to them by name::

    [[defect]]
    name = "never-catches-up"
    kinds = ["no-recovery"]
    log = '\\[Push-{node}\\]Reset write index to \\d+'     # a regex; {node}: a node that the check names; default: any
    times = 100                       # at least this many lines (of the first expression, if several); default: 1
    faults = ["crash-all"]            # one of these was installed, on a node that the check names; default: any
    only_with = ["log-alarm"]         # some of the kinds; the others count only beside one of these; default: all count
    after_heal_s = 20                 # count only lines logged at least this long after the last heal; 0: all
    why = "docs/findings.md"

A mark by itself names nothing: a defect is looked for only where a check found a violation, and then on the nodes and
objects of that violation.  A mark is a line that a healthy run never writes.  If every run writes such lines, their
content decides:

- A group ``(?P<log_end>…)`` says where a node's log ends after the event of the line.  The line counts only if this is
  below what the same node had reported as committed before, and since a fault last damaged its disk.  A log may be cut
  at any election, but never there.
- ``log`` may be several expressions, each for its own line.  They count together if groups of the same name have the
  same text in all lines.  Each line is prefixed with its node, as in ``n1: …``, so they can require the same node.
- The group ``above`` must be a greater number than the group ``below``.  If the violation says which entry of its
  object clients were shown, this entry must lie above ``below`` and at most at ``above``: what happens to entries that
  nobody was shown harms nobody, so healthy runs have such lines as well.
- A line is not a mark if a named group did not take part in the match, or if its ``above``, ``below`` or ``log_end`` is
  not a number.
- ``{object}`` is the name that logs use for the object of the violation; each object must bear the mark.
- ``unless`` matches a line that must not exist; ``{group}`` in it stands for the text of a group.
- ``workloads`` names the only workloads in which the defect shows, ``versions`` the only versions of the system.

Where the date of a line decides, lines of a node whose clock a fault set do not count.

Lines of the cluster's own start, before the run's first operation, are not marks.  A line without a date is as old as
the dated line before it in its file, or else as the first one after it; in a file without any dates, every line counts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct

from harness.errors import UsageError
from harness.judge.clock_faults import sets_clock
from harness.judge.damage import FAULTS
from history import RunFiles
from history.node_logs import seconds_of
from history.recording import Recording
from history.records.finding import KnownDefect
from history.records.violations import Violation
from history.schema import convert, hint
from history.toml_file import read_toml

#: The folder of suites in an installed package, and in a source tree.
_PACKAGED: Final = Path(__file__).resolve().parents[1] / "files" / "suites"
_TREE: Final = Path(__file__).resolve().parents[2] / "suites"
#: The group of a mark that says where a log ends.
LOG_END: Final = "log_end"
#: The faults that may cut off the end of a node's log.
CUTS: Final = (*FAULTS, "crash-random-nodes", "crash-all", "disk-error")
_NODE: Final = "{node}"
#: Begins an expression for the logs of the named nodes alone, so that no other log has to be searched.
_OWN_LOG: Final = re.compile(r"\^(?:\(\?P<\w+>\{node\}\)|\{node\}): ")
_OBJECT: Final = "{object}"
Text: TypeAlias = Annotated[str, Meta(min_length=1)]


class Defect(Struct, frozen=True, forbid_unknown_fields=True):
    """A known defect with its fingerprint."""

    name: Text
    kinds: Annotated[tuple[str, ...], Meta(min_length=1)]
    log: Text | Annotated[tuple[Text, ...], Meta(min_length=1)] | None = None
    times: Annotated[int, Meta(ge=1)] = 1
    faults: tuple[str, ...] = ()
    only_with: tuple[str, ...] = ()
    after_heal_s: Annotated[float, Meta(ge=0)] = 0
    why: str = ""
    unless: Text | None = None
    workloads: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The regular expressions of the defect's mark."""
        return (self.log,) if isinstance(self.log, str) else self.log or ()

    def explains(
        self, violation: Violation, run: Recording, receipts: Sequence[Mapping[str, Any]], kinds: Collection[str]
    ) -> bool:
        """Return whether the violation bears this defect's marks, in a run with violations of these ``kinds``.

        Raises OSError if an existing log cannot be read, or FormatError if the run's records cannot be read.
        """
        if violation.kind not in self.kinds:
            return False
        if self.only_with and {violation.kind, *kinds}.isdisjoint(self.only_with):
            return False
        if self.workloads and run.plan.get("workload") not in self.workloads:
            return False
        if self.versions and run.plan.get("version") not in self.versions:
            return False
        if self.faults and not any(self._struck(receipt, violation) for receipt in receipts):
            return False
        if not self.lines:
            return True
        healed = max((receipt.get("healed") or 0 for receipt in receipts), default=0) / 1e9
        recorded = _Recorded(run, receipts)
        objects: list[tuple[str, int | None]] = [("", None)]
        if any(_OBJECT in regex for regex in self.lines):
            shown = violation.shown or (None,) * len(violation.objects)
            objects = list(zip(violation.objects, shown, strict=True))
        return bool(objects) and all(
            self._marks(*pair, violation, recorded, healed + self.after_heal_s) >= self.times for pair in objects
        )

    def _struck(self, receipt: Mapping[str, Any], violation: Violation) -> bool:
        hit = receipt.get("state") == "installed" and receipt.get("fault") in self.faults
        return hit and (not violation.nodes or not {*violation.nodes}.isdisjoint(receipt.get("nodes", ())))

    def _marks(self, an_object: str, shown: int | None, violation: Violation, recorded: _Recorded, since: float) -> int:
        """Count the marks in the logs of the named nodes, or of all nodes if the expression itself contains the node.

        If only marks after the heal count, count those from ``since`` on (s since the run's start).
        """
        run = recorded.run
        every_node = sorted(path.name for path in run.files.nodes.glob("*") if path.is_dir())
        named = list(violation.nodes) or every_node
        searched = every_node if any(_NODE in regex for regex in self.lines) else [n for n in named if n in every_node]
        words = {_NODE: f"(?:{'|'.join(map(re.escape, named))})", _OBJECT: re.escape(an_object)}
        places = [named if _OWN_LOG.match(regex) else searched for regex in self.lines]
        patterns = [re.compile(_filled(regex, words)) for regex in self.lines]

        def counts(path: Path, number: int, line: str, groups: Mapping[str, str]) -> bool:
            logged, dated = seconds_of(line, recorded.started), self.after_heal_s or LOG_END in groups
            if logged is None or (dated and path.parent.name in recorded.astray):
                return not dated and number >= recorded.lines_of_start(path)
            if logged < (since if self.after_heal_s else 0):
                return False
            return LOG_END not in groups or recorded.committed_above(path.parent.name, logged, int(groups[LOG_END]))

        def matches(pattern: re.Pattern[str], nodes: Sequence[str]) -> Iterator[_Line]:
            for path in (path for node in nodes for path in run.logs_of(node)):
                for number, line in enumerate(run.lines_of(path)):
                    groups = _groups(pattern.search(f"{path.parent.name}: {line}"))
                    if groups is not None and counts(path, number, line, groups):
                        yield (path, number), groups

        @cache
        def appears(denying: str) -> bool:
            denies = re.compile(denying)
            return any(denies.search(f"{node}: {line}") for node in searched for line in run.log_lines(node))

        def holds(groups: Mapping[str, str]) -> bool:
            denied = self.unless is not None and appears(_filled(self.unless, {**words, **_braced(groups)}))
            return _in_order(groups, shown) and not denied

        first, *others = map(matches, patterns, places)
        marks = _completed(first, others, holds)
        return sum(1 for _ in islice(marks, self.times))


class Defects(Struct, forbid_unknown_fields=True):
    """A file of known defects."""

    defect: tuple[Defect, ...] = ()


class _Recorded:
    """The start of a run, and what its nodes had reported as committed by a given time."""

    def __init__(self, run: Recording, receipts: Sequence[Mapping[str, Any]]) -> None:
        """Read when the run started.  Raises OSError, or FormatError for files that cannot be read."""
        self.started = run.header.started
        stood = [receipt for receipt in receipts if receipt.get("state") != "skipped"]
        self._cuts = [receipt for receipt in stood if receipt.get("fault") in CUTS]
        #: The nodes whose clocks a fault set, so that the dates of their lines may be wrong.
        self.astray = {node for row in stood if sets_clock(str(row.get("fault"))) for node in row.get("nodes", ())}
        self.run = run
        self._lines_of_start: dict[Path, float] = {}

    def lines_of_start(self, path: Path) -> float:
        """Return how many lines at the head of a log belong to the cluster's own start, as far as dates show."""
        if path not in self._lines_of_start:
            early, lines = False, 0.0
            for number, line in enumerate(self.run.lines_of(path)):
                logged = seconds_of(line, self.started)
                if logged is not None and logged >= 0:
                    lines = number if early else 0
                    break
                early = early or logged is not None
            else:
                lines = math.inf if early else 0
            self._lines_of_start[path] = lines
        return self._lines_of_start[path]

    @cached_property
    def _probes(self) -> dict[str, list[tuple[float, int]]]:
        commits: dict[str, list[tuple[float, int]]] = {}
        for probe in self.run.probes:
            if probe.answered:
                commits.setdefault(probe.node, []).append((probe.time / 1e9, probe.committed))
        return commits

    def committed_above(self, node: str, logged: float, log_end: int) -> bool:
        """Return whether the node had reported a commit index above ``log_end`` before the time ``logged`` (s).

        A report before a fault that may have cut off the end of its log does not count.
        """
        healed = [
            math.inf if cut.get("healed") is None else cut["healed"] / 1e9
            for cut in self._cuts
            if node in cut.get("nodes", ()) and (cut.get("started") or 0) / 1e9 <= logged
        ]
        since = max(healed, default=-math.inf)
        return any(committed > log_end for time, committed in self._probes.get(node, ()) if since <= time < logged)


#: A line that matches one expression of a mark: its file and number, and its groups.
_Line: TypeAlias = tuple[tuple[Path, int], Mapping[str, str]]
#: The groups whose text must be a number.
_NUMBERS: Final = (LOG_END, "above", "below")


def _groups(match: re.Match[str] | None) -> dict[str, str] | None:
    """Return the named groups of a line that is a mark, or None for any other line."""
    if match is None:
        return None
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    whole = len(groups) == len(match.re.groupindex)
    numbers = all(re.fullmatch(r"-?[0-9]+", groups[name]) for name in _NUMBERS if name in groups)
    return groups if whole and numbers else None


def _completed(
    first: Iterable[_Line], others: Sequence[Iterable[_Line]], holds: Callable[[Mapping[str, str]], bool]
) -> Iterator[_Line]:
    """Yield the lines of the first expression that form a mark, each with a different line for every other expression.

    Groups of the same name must agree, and the mark must hold.  Lines with the same groups are interchangeable, so only
    as many of them are kept as there are expressions, so that one is always free.
    """
    kept = [_few_of_each(lines, 1 + len(others)) for lines in others]
    known: dict[tuple[frozenset[tuple[str, str]], tuple[Path, int] | None], bool] = {}
    shared = {place for lines in kept for place, _ in lines}

    def completes(groups: Mapping[str, str], taken: frozenset[tuple[Path, int]], left: Sequence[list[_Line]]) -> bool:
        if not left:
            return holds(groups)
        return any(
            completes({**groups, **more}, taken | {place}, left[1:])
            for place, more in left[0]
            if place not in taken and all(groups.get(name, text) == text for name, text in more.items())
        )

    for place, groups in first:
        like = frozenset(groups.items()), place if place in shared else None
        if like not in known:
            known[like] = completes(groups, frozenset({place}), kept)
        if known[like]:
            yield place, groups


def _few_of_each(lines: Iterable[_Line], most: int) -> list[_Line]:
    """Keep at most this many of the lines with the same groups."""
    number, kept = Counter[frozenset[tuple[str, str]]](), list[_Line]()
    for place, groups in lines:
        like = frozenset(groups.items())
        number[like] += 1
        if number[like] <= most:
            kept.append((place, groups))
    return kept


def _in_order(groups: Mapping[str, str], shown: int | None) -> bool:
    if "above" not in groups:
        return True
    above, below = int(groups["above"]), int(groups["below"])
    return below < (above if shown is None else shown) <= above


def _braced(groups: Mapping[str, str]) -> dict[str, str]:
    return {f"{{{name}}}": re.escape(text) for name, text in groups.items()}


def _filled(pattern: str, words: Mapping[str, str]) -> str:
    for name, text in words.items():
        pattern = pattern.replace(name, text)
    return pattern


def unexplained(
    violations: Sequence[Violation],
    known: Sequence[Defect],
    run: RunFiles | Recording,
    receipts: Sequence[Mapping[str, Any]],
    kinds: Collection[str],
) -> list[Violation]:
    """Return the violations without the marks of any known defect.

    ``kinds`` holds the kinds of all violations of the run.  Each node that a violation names needs its own marks, which
    explain nothing about another node.
    """
    recording, strange = Recording.of(run), list[Violation]()
    for violation in violations:
        strange += [
            part
            for part in _of_each_node(violation)
            if not any(defect.explains(part, recording, receipts, kinds) for defect in known)
        ]
    return strange


def known_in(
    run: Recording, known: Sequence[Defect], violations: Sequence[Violation]
) -> tuple[tuple[KnownDefect, ...], tuple[str, ...]]:
    """Return the known defects whose marks the run's violations bear, and the kinds that none of them explains.

    Raises OSError, or FormatError for records that cannot be read.
    """
    kinds = {breach.kind for breach in violations}
    explained: dict[str, dict[str, None]] = {}
    strange: dict[str, None] = {}
    for part in (alone for violation in violations for alone in _of_each_node(violation)):
        defect = next((other for other in known if other.explains(part, run, run.results["receipts"], kinds)), None)
        if defect is None:
            strange[part.kind] = None
        else:
            explained.setdefault(defect.name, {})[part.kind] = None
    recognized = (
        KnownDefect(name=candidate.name, kinds=tuple(explained[candidate.name]), why=candidate.why)
        for candidate in known
        if candidate.name in explained
    )
    return tuple(recognized), tuple(strange)


def _of_each_node(violation: Violation) -> list[Violation]:
    return [replace(violation, nodes=(node,)) for node in violation.nodes] or [violation]


def _check(place: str, defect: Defect) -> None:
    """Check that a defect has marks that can be searched for.  Raises UsageError that names the remedy."""
    try:
        groups = {name for regex in defect.lines for name in re.compile(_filled(regex, {_NODE: "n1"})).groupindex}
        re.compile(_filled(defect.unless or "", {_NODE: "n1", **_braced(dict.fromkeys(groups, "1"))}))
    except re.error as error:
        raise UsageError(f"{place}.log is not a regular expression: {error}") from None
    if ("above" in groups) != ("below" in groups):
        raise UsageError(f"{place}.log has only one of the groups above and below: add the other")
    if not defect.lines and (defect.times > 1 or defect.after_heal_s):
        raise UsageError(f"{place} has times or after_heal_s, which are about lines that match log: add log")
    if not defect.lines and defect.unless:
        raise UsageError(f"{place} has unless, which excludes lines that match log: add log")
    if not (defect.lines or defect.faults or defect.only_with or defect.versions):
        raise UsageError(f"{place} has only kinds to recognize it by: add log, faults, only_with or versions")
    for kind in defect.only_with:
        if kind not in defect.kinds:
            raise UsageError(
                f"{place}.only_with has {kind!r}, which is not one of its kinds; {hint(kind, defect.kinds)}"
            )


def suites_folder() -> Path:
    """Return the folder of the suites that come with this package."""
    return _PACKAGED if _PACKAGED.is_dir() else _TREE


def defects_of(system: str) -> Path | None:
    """Return the file of a system's known defects, if this package has one.

    Its name is that of the system, or of the product that the system is a part of: what precedes the first hyphen.
    """
    folder = suites_folder() / "defects"
    paths = (folder / f"{name}.toml" for name in (system, system.partition("-")[0]))
    return next((path for path in paths if path.is_file()), None)


def read_defects(path: Path) -> dict[str, Defect]:
    """Return the defects in a file by name.  Raises UsageError that names file, defect, key and remedy."""
    try:
        defects = convert(read_toml(path), Defects).defect
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; defects must name a file next to the suite") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    by_name: dict[str, Defect] = {}
    for number, defect in enumerate(defects):
        _check(f"{path}: defect[{number}]", defect)
        if defect.name in by_name:
            raise UsageError(f"{path}: the defect {defect.name} is defined twice")
        by_name[defect.name] = defect
    return by_name
