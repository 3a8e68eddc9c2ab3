"""Workloads: each value written once, the same stream for the same seed, every register read at the end."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.generators import Completion, Stream, each_worker, simulate
from harness.workloads import CasRegisterWorkload, Invocation, MixedRegisters, RegisterWorkload, until_applied
from history import UNAPPLIED

NAMES = ["register", "cas-register", "mixed-registers"]
ALL = pytest.mark.parametrize("name", NAMES)


WORKLOADS: dict[str, type[RegisterWorkload | CasRegisterWorkload | MixedRegisters]] = {
    "register": RegisterWorkload, "cas-register": CasRegisterWorkload, "mixed-registers": MixedRegisters,
}  # fmt: skip


def stream(name: str, seed: int, count: int, keys: int = 5) -> list[Invocation]:
    run = simulate(WORKLOADS[name](keys).generator(), workers=1, seed=seed, most=count)
    return [replace(invocation, worker=-1, time=0) for invocation in run.issued]


def written(invocation: Invocation) -> int:
    value = invocation.value[1] if invocation.f == "cas" else invocation.value
    assert isinstance(value, int)
    return value


@settings(max_examples=30)
@given(st.sampled_from(NAMES), st.integers(0, 2**32), st.integers(1, 7))
def test_each_value_is_written_at_most_once_over_all_keys(name: str, seed: int, keys: int) -> None:
    values = [written(invocation) for invocation in stream(name, seed, 300, keys) if invocation.f != "read"]
    assert len(set(values)) == len(values)
    assert all(value > 0 for value in values)


@ALL
def test_the_same_seed_gives_the_same_stream_and_another_one_another(name: str) -> None:
    assert stream(name, 7, 200) == stream(name, 7, 200)
    assert stream(name, 7, 200) != stream(name, 8, 200)


@pytest.mark.parametrize(
    ("name", "kinds"), [(name, "read write cas" if name == "cas-register" else "read write") for name in NAMES]
)
def test_kinds_come_in_equal_shares_and_keys_too(name: str, kinds: str) -> None:
    invocations = stream(name, 1, 6000)
    by_kind = Counter(invocation.f for invocation in invocations)
    assert set(by_kind) == set(kinds.split())
    assert all(abs(count * len(by_kind) / 6000 - 1) < 0.1 for count in by_kind.values())
    by_key = Counter(invocation.key for invocation in invocations)
    if name != "mixed-registers":
        assert set(by_key) == {f"k{number}" for number in range(5)}
        assert all(abs(count * 5 / 6000 - 1) < 0.15 for count in by_key.values())


def test_a_cas_expects_what_was_last_seen_in_its_register() -> None:
    """A single worker against a register that others write too: a read and a refusal tell what they wrote."""
    held: dict[object, int | None] = {}

    def answers(invocation: Invocation, draws: Stream) -> tuple[Completion, Stream]:
        key, value = invocation.key, invocation.value
        draw, draws = draws.draw()
        if draw < 0.3:
            held[key] = -int(draw * 1e6)
        if invocation.f == "read":
            return Completion(0.001, value=held.get(key)), draws
        if invocation.f == "cas" and held.get(key) != value[0]:
            return Completion(0.001, value=[*value, held.get(key)]), draws
        held[key] = written(invocation)
        return Completion(0.001, "info" if 0.3 < draw < 0.4 else "ok", value), draws

    run = simulate(CasRegisterWorkload(3).generator(), workers=1, answers=answers, seed=3, most=2000)
    seen: dict[object, object] = {}
    for event in run.events:
        if event.type == "invoke" and event.f == "cas":
            assert event.value[0] == seen.get(event.key)
        elif event.type == "ok":
            seen[event.key] = event.value[-1] if event.f == "cas" else event.value
    refused = [event for event in run.events if event.type == "ok" and event.f == "cas" and len(event.value) == 3]
    assert 50 < len(refused) < 400


def test_some_registers_live_and_some_end_and_are_replaced() -> None:
    issued = stream("mixed-registers", 5, 6000)
    keys = [str(invocation.key) for invocation in issued]
    counts = Counter(keys)
    short = {key: count for key, count in counts.items() if key.startswith("s")}
    assert sum(short.values()) == pytest.approx(3000, abs=250)
    assert set(short) == {f"s{number}" for number in range(len(short))}
    in_use = sorted(short, key=lambda key: -int(key[1:]))[:2]
    assert all(count == 100 for key, count in short.items() if key not in in_use)
    for number in range(len(short) - 2):  # each begins when the one before it in its row has ended
        assert keys.index(f"s{number + 2}") > max(place for place, key in enumerate(keys) if key == f"s{number}")
    reads = MixedRegisters(5).final_reads(counts)
    assert {read.key for read in reads} == set(counts)
    assert len(reads) == len(counts)


@ALL
def test_reads_have_no_value_and_nothing_is_final(name: str) -> None:
    for invocation in stream(name, 2, 300):
        assert not invocation.final
        assert (invocation.value is None) == (invocation.f == "read")


@ALL
def test_final_reads_are_one_a_register(name: str) -> None:
    reads = WORKLOADS[name](3).final_reads()
    assert reads == [Invocation("read", key, final=True) for key in ("k0", "k1", "k2")]


READS = [Invocation("read", key) for key in ("k0", "k1", "k2")]


def test_final_reads_are_repeated_after_the_others_until_they_were_applied() -> None:
    failing = iter(["fail", "ok", "info", "fail"])

    def answers(invocation: Invocation, stream: Stream) -> tuple[Completion, Stream]:
        return Completion(1.0, next(failing, "ok")), stream  # type: ignore[arg-type]  # (types by name)

    run = simulate(until_applied(READS, 0.5), workers=1, answers=answers)
    assert [invocation.key for invocation in run.issued] == ["k0", "k1", "k2", "k0", "k2", "k0"]
    assert [event.time for event in run.events if event.type == "invoke"] == [
        0, 1e9, 2e9, 3.5e9, 4.5e9, 6e9,
    ]  # fmt: skip
    assert run.exhausted


def test_an_acknowledgement_of_what_was_not_applied_is_not_enough() -> None:
    errors = iter([UNAPPLIED])
    run = simulate(
        until_applied(READS[:1], 0.5), workers=1, answers=lambda _, s: (Completion(1, error=next(errors, None)), s)
    )
    assert len(run.issued) == 2


def test_each_worker_reads_everything() -> None:
    run = simulate(each_worker(until_applied(READS, 0.5)), workers=3)
    assert Counter((invocation.worker, invocation.key) for invocation in run.issued) == Counter(
        (worker, read.key) for worker in range(3) for read in READS
    )
