"""The operations of other tools' nemeses as faults that stand for a while."""

from __future__ import annotations

from typing import Any

import pytest

from history import Event
from history.readers.nemesis import fault_events
from history.records.receipts import receipts_of


def events(*names: str, twice: bool = True) -> list[Event]:
    """Each operation as its begin and its end, as Jepsen records them, or ``twice`` as one event."""
    repeated = [name for name in names for _ in range(1 + twice)]
    return [Event(place, 10 * place, "info", "nemesis", name, None) for place, name in enumerate(repeated)]


def bands(*names: str, twice: bool = True) -> list[tuple[str, int, int | None]]:
    """(fault, operation that began it, operation that ended it), by their places."""
    step = 20 if twice else 10
    receipts = receipts_of(fault_events(events(*names, twice=twice)))
    return [(one.fault, one.started // step, None if one.healed is None else one.healed // step) for one in receipts]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("start", "stop"), [("start", 0, 1)]),
        (("start-partition", "stop-partition"), [("start-partition", 0, 1)]),
        (("kill", "start"), [("kill", 0, 1)]),
        (("pause", "resume"), [("pause", 0, 1)]),
        (("bump-clock", "strobe-clock", "reset-clock"), [("bump-clock", 0, 2), ("strobe-clock", 1, 2)]),
        (("partition", "heal"), [("partition", 0, 1)]),
        (("isolate_leader", "heal_isolate_leader"), [("isolate_leader", 0, 1)]),
        (("kill", "pause", "resume", "start"), [("kill", 0, 3), ("pause", 1, 2)]),
        (
            ("start-partition", "kill", "stop-partition", "start"),
            [("start-partition", 0, 2), ("kill", 1, 3)],
        ),
        (("kill", "pause", "kill", "start"), [("kill", 0, 2), ("pause", 1, None), ("kill", 2, 3)]),
        (("kill",), [("kill", 0, None)]),
        (("leave", "join"), [("leave", 0, 0), ("join", 1, 1)]),
        (("stop",), [("stop", 0, None)]),
        ((), []),
    ],
)
@pytest.mark.parametrize("twice", [True, False])
def test_a_fault_stands_until_what_ends_it(names: tuple[str, ...], found: list[Any], twice: bool) -> None:
    assert bands(*names, twice=twice) == found


def test_nothing_is_claimed_of_a_fault_but_that_it_was_asked_for() -> None:
    (receipt,) = receipts_of(fault_events(events("kill", "start")))
    assert receipt.state == "indeterminate"
    assert receipt.family == "kill"
    assert not receipt.witness


def test_our_own_receipts_stay_as_they_are() -> None:
    ours = [Event(0, 5, "invoke", "nemesis", "kill", {"id": 0, "action": "inject"})]
    assert fault_events(ours) == ours
