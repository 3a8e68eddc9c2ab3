"""Signals: raised, handed to a reaction, or held back, and the previous handlers always return."""

from __future__ import annotations

import signal

import pytest

from harness.execution.interrupts import SIGNALS, Interrupts

pytestmark = pytest.mark.usefixtures("hangups")

ALL = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


@ALL
def test_with_nothing_registered_a_signal_raises(number: signal.Signals) -> None:
    with Interrupts(list[str]().append) as interrupts:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert interrupts.asked


@ALL
def test_a_reaction_is_called_instead_and_reported_once(number: signal.Signals) -> None:
    said: list[str] = []
    calls: list[int] = []
    with Interrupts(said.append) as interrupts:
        with interrupts.reaction(lambda: calls.append(1)):
            signal.raise_signal(number)
            signal.raise_signal(signal.SIGINT)
        assert len(calls) == 2
        assert len(said) == 1
        assert "no new operations" in said[0]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@ALL
def test_while_held_a_signal_is_noted_and_nothing_else(number: signal.Signals) -> None:
    said: list[str] = []
    with Interrupts(said.append) as interrupts:
        with interrupts.held(), interrupts.reaction(lambda: pytest.fail("reacted")):
            with interrupts.held():
                signal.raise_signal(number)
            signal.raise_signal(number)
        assert interrupts.asked
        assert all("please wait" in text for text in said)
        assert said


def test_a_hold_ends_with_its_block_also_when_that_fails() -> None:
    with Interrupts(list[str]().append) as interrupts:
        with pytest.raises(ValueError, match="x"), interrupts.held():
            raise ValueError("x")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_the_previous_handlers_return() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Interrupts(list[str]().append) as interrupts:
        assert not interrupts.asked
    with pytest.raises(ValueError, match="x"), Interrupts(list[str]().append):
        raise ValueError("x")
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_a_terminal_that_goes_away_says_so_more_than_once_and_is_heard_once() -> None:
    """Or the second word would tear the collecting, or the judging, in half."""
    calls: list[int] = []
    with Interrupts(list[str]().append) as interrupts:
        with interrupts.reaction(lambda: calls.append(1)):
            signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
    assert calls == [1]


def test_once_there_is_no_need_to_watch_the_end_of_a_terminal_is_no_interruption() -> None:
    with Interrupts(list[str]().append) as interrupts:
        interrupts.go_on_unwatched()
        signal.raise_signal(signal.SIGHUP)
        assert not interrupts.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts(list[str]().append) as interrupts:
            signal.raise_signal(signal.SIGHUP)
            assert not interrupts.asked
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
