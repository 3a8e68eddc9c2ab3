"""The violations in ``results.json``: what kind, found by which check, of which nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

#: A violation that the checker proved without a counterexample to show.
WITHOUT_KIND: Final = "not-linearizable"


@dataclass(frozen=True, slots=True)
class Violation:
    """One kind of violation that one check of a run found; ``nodes`` are those that it names."""

    check: str
    kind: str
    nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.kind + (f" of {', '.join(self.nodes)}" if self.nodes else "")


def violations_of(results: Mapping[str, Any]) -> tuple[Violation, ...]:
    """Every violation in a run's ``results.json``, sorted: of the clients by kind, of the other checks with nodes."""
    found: set[Violation] = set()
    for check in results.get("checks", ()):
        if check["verdict"] != "invalid":
            continue
        name, details = check["name"], check.get("details", {})
        if name == "linearizable":
            shown = {example["kind"] for key in results["keys"] for example in key.get("counterexamples") or ()}
            found |= {Violation(name, kind) for kind in shown or {WITHOUT_KIND}}
        else:
            nodes = details.get("nodes") or details.get("behind") or ()
            found.add(Violation(name, str(details.get("kind") or name), tuple(nodes)))
    return tuple(sorted(found, key=lambda one: (one.kind, one.nodes)))
