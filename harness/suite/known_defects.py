"""Known defects of a system under test, and the marks by which a violation is recognised as one.

A kind of violation alone would let a new defect of the same kind pass for an old one.  So a known defect has a
fingerprint: the kinds that it may show as, a line that stands in the nodes' own logs when it struck, where only some
faults can bring it about, those faults, and, where healthy runs write that line too, the kinds that prove it.  They are
written once, in TOML, and suites refer to them by name::

    [[defect]]
    name = "never-catches-up"
    kinds = ["no-recovery"]
    log = '\\[Push-{node}\\]Reset write index to \\d+ for resending'     # a regex; {node}: a node that the check names
    times = 100                       # so many lines at the least; 1 if left out
    faults = ["crash-all"]            # one of these was installed, on a node that the check names; none: any
    only_with = ["log-alarm"]         # some of the kinds: any other counts only beside one of these; none: by itself
    why = "docs/findings.md"
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import asdict

from harness.errors import UsageError
from history import RunFiles
from history.records.violations import Violation
from history.schema import convert, hint
from history.toml_file import read_toml

Text: TypeAlias = Annotated[str, Meta(min_length=1)]


class Defect(Struct, frozen=True, forbid_unknown_fields=True):
    """A known defect with its fingerprint."""

    name: Text
    kinds: Annotated[tuple[str, ...], Meta(min_length=1)]
    log: Text
    times: Annotated[int, Meta(ge=1)] = 1
    faults: tuple[str, ...] = ()
    only_with: tuple[str, ...] = ()
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        lists = {"kinds": list(self.kinds), "faults": list(self.faults), "only_with": list(self.only_with)}
        return {**asdict(self), **lists}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Defect:
        """Raises ValueError."""
        return convert(record, cls)

    def explains(
        self, violation: Violation, run: RunFiles, receipts: Iterable[Mapping[str, Any]], found: Collection[str]
    ) -> bool:
        """Whether the violation bears this defect's marks, in a run in which violations of the kinds ``found`` were.

        Raises OSError when a log that is there cannot be read.
        """
        if violation.kind not in self.kinds:
            return False
        if self.only_with and {violation.kind, *found}.isdisjoint(self.only_with):
            return False
        if self.faults and not any(self._struck(receipt, violation) for receipt in receipts):
            return False
        return self._lines(violation, run.nodes) >= self.times

    def _struck(self, receipt: Mapping[str, Any], violation: Violation) -> bool:
        hit = receipt.get("state") == "installed" and receipt.get("fault") in self.faults
        return hit and (not violation.nodes or not {*violation.nodes}.isdisjoint(receipt.get("nodes", ())))

    def _lines(self, violation: Violation, logs: Path) -> int:
        """Count the mark in the logs of the nodes named, or in all where the mark itself contains the node."""
        every_node = sorted(path.name for path in logs.glob("*") if path.is_dir())
        named = [node for node in violation.nodes if node in every_node] or every_node
        searched, pattern = named, self.log
        if "{node}" in self.log:
            searched, pattern = every_node, self.log.replace("{node}", f"(?:{'|'.join(map(re.escape, named))})")
        mark = re.compile(pattern)
        return sum(_count(mark, logs / node, self.times) for node in searched)


class Defects(Struct, forbid_unknown_fields=True):
    """A file of known defects."""

    defect: tuple[Defect, ...] = ()


def _count(mark: re.Pattern[str], directory: Path, enough: int) -> int:
    found = 0
    for path in sorted(directory.glob("*.log*")):
        with path.open(errors="replace") as lines:
            for line in lines:
                found += mark.search(line) is not None
                if found >= enough:
                    return found
    return found


def unexplained(
    violations: Sequence[Violation],
    known: Sequence[Defect],
    run: RunFiles,
    receipts: Sequence[Mapping[str, Any]],
    found: Collection[str],
) -> list[Violation]:
    """The violations without the marks of any known defect; ``found`` are the kinds of all violations of the run."""
    return [one for one in violations if not any(defect.explains(one, run, receipts, found) for defect in known)]


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
            re.compile(defect.log.replace("{node}", "n1"))
        except re.error as error:
            raise UsageError(f"{path}: defect[{number}].log is no regular expression: {error}") from None
        for kind in defect.only_with:
            if kind not in defect.kinds:
                why = f"which is none of its kinds; {hint(kind, defect.kinds)}"
                raise UsageError(f"{path}: defect[{number}].only_with has {kind!r}, {why}")
        if defect.name in found:
            raise UsageError(f"{path}: the defect {defect.name} is written twice")
        found[defect.name] = defect
    return found
