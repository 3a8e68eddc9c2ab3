"""Known defects of a system under test, and the marks by which a violation is recognised as one.

A kind of violation alone would let a new defect of the same kind pass for an old one.  So a known defect has a
fingerprint: the kinds that it may show as, and one at least of: a line that stands in the nodes' own logs when it
struck; where only some faults can bring it about, those faults; where healthy runs write that line too, or nothing is
logged, the kinds that prove it.  They are written once, in TOML, and suites refer to them by name::

    [[defect]]
    name = "never-catches-up"
    kinds = ["no-recovery"]
    log = '\\[Push-{node}\\]Reset write index to \\d+'     # a regex; {node}: one that the check names; none: any logs
    times = 100                       # so many lines at the least; 1 if left out
    faults = ["crash-all"]            # one of these was installed, on a node that the check names; none: any
    only_with = ["log-alarm"]         # some of the kinds: any other counts only beside one of these; none: by itself
    after_heal_s = 20                 # only lines count that were logged so long after the last heal; 0: all
    why = "docs/findings.md"

A group ``(?P<log_end>…)`` in the regex is where a node's log ends after what the line says.  Then a line counts only
where that is below what this very node had reported as committed before: a log is cut at every election, but a healthy
one never there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct

from harness.errors import UsageError
from history import RunFiles
from history.recording import Recording
from history.records.violations import Violation
from history.schema import convert, hint
from history.toml_file import read_toml
from reports.load.logs import seconds_of

#: The group of a mark that is where a log ends.
LOG_END: Final = "log_end"
Text: TypeAlias = Annotated[str, Meta(min_length=1)]


class Defect(Struct, frozen=True, forbid_unknown_fields=True):
    """A known defect with its fingerprint."""

    name: Text
    kinds: Annotated[tuple[str, ...], Meta(min_length=1)]
    log: Text | None = None
    times: Annotated[int, Meta(ge=1)] = 1
    faults: tuple[str, ...] = ()
    only_with: tuple[str, ...] = ()
    after_heal_s: Annotated[float, Meta(ge=0)] = 0
    why: str = ""

    def explains(
        self, violation: Violation, run: Recording, receipts: Sequence[Mapping[str, Any]], found: Collection[str]
    ) -> bool:
        """Whether the violation bears this defect's marks, in a run in which violations of the kinds ``found`` were.

        Raises OSError when a log that is there cannot be read, FormatError when the run's records cannot.
        """
        if violation.kind not in self.kinds:
            return False
        if self.only_with and {violation.kind, *found}.isdisjoint(self.only_with):
            return False
        if self.faults and not any(self._struck(receipt, violation) for receipt in receipts):
            return False
        if self.log is None:
            return True
        healed = max((receipt.get("healed") or 0 for receipt in receipts), default=0) / 1e9
        return self._lines(self.log, violation, run, healed + self.after_heal_s) >= self.times

    def _struck(self, receipt: Mapping[str, Any], violation: Violation) -> bool:
        hit = receipt.get("state") == "installed" and receipt.get("fault") in self.faults
        return hit and (not violation.nodes or not {*violation.nodes}.isdisjoint(receipt.get("nodes", ())))

    def _lines(self, pattern: str, violation: Violation, run: Recording, since: float) -> int:
        """Count the mark in the logs of the nodes named, or in all where the mark itself contains the node.

        Where it counts only after the heal, from ``since`` on (s since the run's start).
        """
        every_node = sorted(path.name for path in run.files.nodes.glob("*") if path.is_dir())
        named = list(violation.nodes) or every_node
        searched = [node for node in named if node in every_node]
        if "{node}" in pattern:
            searched, pattern = every_node, pattern.replace("{node}", f"(?:{'|'.join(map(re.escape, named))})")
        mark = re.compile(pattern)
        cuts = LOG_END in mark.groupindex
        recorded = _Recorded(run) if cuts or self.after_heal_s else None

        def counts(node: str, line: str) -> bool:
            found = mark.search(line)
            if found is None or recorded is None:
                return found is not None
            logged = seconds_of(line, recorded.started)
            if logged is None or (self.after_heal_s and logged < since):
                return False
            return not cuts or recorded.committed_above(node, logged, int(found[LOG_END]))

        return sum(_count(partial(counts, node), run.log_lines(node), self.times) for node in searched)


class Defects(Struct, forbid_unknown_fields=True):
    """A file of known defects."""

    defect: tuple[Defect, ...] = ()


class _Recorded:
    """When a run started, and what its nodes had reported as committed by a time."""

    def __init__(self, run: Recording) -> None:
        """Read when a run started, and its probes.  Raises OSError, and FormatError for files that cannot be read."""
        self.started = run.header.started
        self._probes: dict[str, list[tuple[float, int]]] = {}
        for probe in run.probes:
            if probe.answered:
                self._probes.setdefault(probe.node, []).append((probe.time / 1e9, probe.committed))

    def committed_above(self, node: str, logged: float, log_end: int) -> bool:
        """Whether the node had reported a commit index above this before a moment (s)."""
        return any(committed > log_end for time, committed in self._probes.get(node, ()) if time < logged)


def _count(counts: Callable[[str], bool], lines: Iterable[str], enough: int) -> int:
    return sum(1 for _ in islice(filter(counts, lines), enough))


def unexplained(
    violations: Sequence[Violation],
    known: Sequence[Defect],
    run: RunFiles | Recording,
    receipts: Sequence[Mapping[str, Any]],
    found: Collection[str],
) -> list[Violation]:
    """The violations without the marks of any known defect; ``found`` are the kinds of all violations of the run."""
    recording = Recording.of(run)
    return [one for one in violations if not any(defect.explains(one, recording, receipts, found) for defect in known)]


def read_defects(path: Path) -> dict[str, Defect]:
    """The defects in a file by their names.  Raises UsageError that names file, defect, key and remedy."""
    try:
        defects = convert(read_toml(path), Defects).defect
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; defects must name a file beside the suite") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    found: dict[str, Defect] = {}
    for number, defect in enumerate(defects):
        try:
            re.compile((defect.log or "").replace("{node}", "n1"))
        except re.error as error:
            raise UsageError(f"{path}: defect[{number}].log is no regular expression: {error}") from None
        if defect.log is None and (defect.times > 1 or defect.after_heal_s):
            raise UsageError(f"{path}: defect[{number}] has times or after_heal_s, which count lines of log: add log")
        if not (defect.log or defect.faults or defect.only_with):
            raise UsageError(f"{path}: defect[{number}] has kinds alone for a mark: add log, faults or only_with")
        for kind in defect.only_with:
            if kind not in defect.kinds:
                why = f"which is none of its kinds; {hint(kind, defect.kinds)}"
                raise UsageError(f"{path}: defect[{number}].only_with has {kind!r}, {why}")
        if defect.name in found:
            raise UsageError(f"{path}: the defect {defect.name} is written twice")
        found[defect.name] = defect
    return found
