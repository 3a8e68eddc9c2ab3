"""A nemesis that touches nothing: it installs one fault, waits for a moment and heals it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from nemesis.schedule.runner import Unhealed


@dataclass
class ToyNemesis:
    """A nemesis with one fault, which lasts ``stand_s``.

    ``standing`` has what it left behind, ``heals`` how often healing was requested, and ``closed`` whether that was
    final.
    """

    record: Any
    standing: bool = False
    heals: int = 0
    unhealed: tuple[Unhealed, ...] = ()
    stand_s: float = 0.4
    closed: bool = False
    tried: set[str] = field(default_factory=set)

    def run(self, stop: threading.Event) -> None:
        self.inject()
        stop.wait(self.stand_s)
        self.heal_all()

    def inject(self) -> None:
        self.record("invoke", "toy", {"action": "inject", "id": 0, "nodes": ["n2"]})
        self.standing = True
        self.record("ok", "toy", {"action": "inject", "id": 0, "witness": {"seen": True}})

    def heal_all(self, *, final: bool = False) -> tuple[Unhealed, ...]:
        self.heals += 1
        self.closed |= final
        if self.standing:
            self.standing = False
            for kind in ("invoke", "ok"):
                self.record(kind, "toy", {"action": "heal", "id": 0})
        return self.unhealed
