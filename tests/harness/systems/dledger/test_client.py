"""The register's client: where it asks, where it goes on to, and what it never repeats."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.clients.wire import LostError, NotSentError
from harness.systems.dledger.client import AVOID_S, MAX_HOPS, RegisterClient
from harness.systems.law import Outcome
from harness.workloads import Invocation

WRITE = Invocation("write", "k0", 7)
CAS = Invocation("cas", "k0", [None, 8])
READ = Invocation("read", "k0")
NODES = ("n1", "n2", "n3")

OK = {"ok": True, "applied": True, "swapped": True, "value": 7}
MISMATCH = {"ok": True, "applied": True, "swapped": False}
AFTER = {"ok": False, "name": "TIMEOUT", "stage": "after-append", "leader": "n2"}
REFUSED = NotSentError("no connection: refused")
LOST = LostError("no answer within 4 s")


def not_leader(hint: str | None) -> dict[str, Any]:
    return {"ok": False, "code": 404, "name": "NOT_LEADER", "stage": "before-append", "message": "", "leader": hint}


class Clock:
    """Seconds, moved by hand; ``step`` passes with every request."""

    def __init__(self) -> None:
        self.now, self.step = 100.0, 0.0

    def __call__(self) -> float:
        return self.now


class ScriptedWire:
    """Answers from a script, the last line again and again; an exception in the script is raised."""

    def __init__(self, node: str, script: list[Any], asked: list[tuple[str, dict[str, Any]]], clock: Clock) -> None:
        self._node, self._script, self._asked, self._clock = node, list(script), asked, clock
        self.timeouts: list[float] = []

    async def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        self._asked.append((self._node, request))
        self.timeouts.append(timeout)
        self._clock.now += self._clock.step
        answer = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self._asked.append((self._node, {"op": "closed"}))


class Scene:
    """A client at n1 whose wires are scripts; ``asked`` are the nodes in the order in which they were asked."""

    def __init__(
        self, scripts: dict[str, list[Any]], *, follows: str = "leader", home: str = "n1", read_mode: str = "log"
    ) -> None:
        self.clock, self.requests = Clock(), list[tuple[str, dict[str, Any]]]()
        endpoints = dict.fromkeys(scripts, ("127.0.0.1", 1))
        self.client = RegisterClient(
            endpoints, home, follows=follows, timeout=4.0, clock=self.clock, read_mode=read_mode
        )
        self.wires = {node: ScriptedWire(node, s, self.requests, self.clock) for node, s in scripts.items()}
        self.client._wires = self.wires  # type: ignore[assignment]

    def perform(self, invocation: Invocation) -> Outcome:
        return asyncio.run(self.client.perform(invocation))

    @property
    def asked(self) -> list[str]:
        return [node for node, _ in self.requests]


def test_the_home_node_is_asked_first_and_alone_when_it_answers() -> None:
    scene = Scene({node: [OK] for node in NODES})
    assert scene.perform(WRITE).type == "ok"
    assert scene.asked == ["n1"]


@pytest.mark.parametrize(
    ("invocation", "request_"),
    [
        (WRITE, {"op": "write", "key": "k0", "value": 7}),
        (CAS, {"op": "cas", "key": "k0", "old": None, "new": 8}),
        (READ, {"op": "read", "key": "k0", "mode": "log"}),
        (Invocation("read", "k1", final=True), {"op": "read", "key": "k1", "mode": "log"}),
        (Invocation("read", "k1"), {"op": "read", "key": "k1", "mode": "log"}),
    ],
)
def test_what_goes_over_the_wire(invocation: Invocation, request_: dict[str, Any]) -> None:
    scene = Scene({"n1": [OK]})
    scene.perform(invocation)
    assert scene.requests == [("n1", request_)]


def test_it_goes_on_to_the_leader_that_the_node_named() -> None:
    scene = Scene({"n1": [not_leader("n3")], "n2": [OK], "n3": [OK]})
    outcome = scene.perform(WRITE)
    assert (outcome.type, outcome.node) == ("ok", "n3")
    assert scene.asked == ["n1", "n3"]


def test_a_client_that_follows_its_node_asks_no_other() -> None:
    scene = Scene({"n1": [not_leader("n3")], "n2": [OK], "n3": [OK]}, follows="node")
    assert scene.perform(WRITE).type == "fail"
    assert scene.asked == ["n1"]


@pytest.mark.parametrize("answer", [AFTER, MISMATCH, LOST, {"ok": True, "applied": False}, {}])
@pytest.mark.parametrize("invocation", [WRITE, CAS])
def test_what_may_have_had_an_effect_or_was_decided_is_not_asked_again(invocation: Invocation, answer: Any) -> None:
    scene = Scene({"n1": [answer], "n2": [OK], "n3": [OK]})
    scene.client._leader = "n2"
    scene.perform(invocation)
    assert scene.asked == ["n1"]


def test_a_node_that_cannot_be_reached_sends_us_to_the_leader_we_know() -> None:
    scene = Scene({"n1": [not_leader("n3"), REFUSED], "n2": [OK], "n3": [OK]})
    scene.perform(WRITE)
    assert scene.perform(WRITE).node == "n3"
    assert scene.asked == ["n1", "n3", "n1", "n3"]


def test_a_lost_read_may_be_asked_elsewhere() -> None:
    scene = Scene({"n1": [LOST], "n2": [OK], "n3": [OK]})
    scene.client._leader = "n2"
    assert scene.perform(READ).type == "ok"
    assert scene.asked == ["n1", "n2"]


def test_two_nodes_that_name_each_other_are_asked_once_each() -> None:
    scene = Scene({"n1": [not_leader("n2")], "n2": [not_leader("n1")], "n3": [OK]})
    assert scene.perform(WRITE).type == "fail"
    assert scene.asked == ["n1", "n2"]


def test_at_most_three_hops() -> None:
    names = [f"n{number}" for number in range(1, 7)]
    scene = Scene({name: [not_leader(after)] for name, after in zip(names, [*names[1:], None], strict=True)})
    assert scene.perform(WRITE).type == "fail"
    assert scene.asked == names[:MAX_HOPS]


@pytest.mark.parametrize("hint", [None, "n9", "n1", "", 7])
def test_a_useless_hint_ends_the_way(hint: Any) -> None:
    scene = Scene({"n1": [not_leader(hint)], "n2": [OK]})
    assert scene.perform(WRITE).type == "fail"
    assert scene.asked == ["n1"]


def test_a_leader_that_is_none_of_our_nodes_is_never_asked() -> None:
    scene = Scene({"n1": [not_leader("n9"), LOST], "n2": [OK]})
    for _ in range(3):
        scene.perform(WRITE)
    assert scene.asked == ["n1", "n1", "n2"]


def test_one_timeout_for_the_whole_way() -> None:
    scene = Scene({"n1": [not_leader("n2")], "n2": [not_leader("n3")], "n3": [OK]})
    scene.clock.step = 1.5
    scene.perform(WRITE)
    assert [scene.wires[node].timeouts for node in NODES] == [[4.0], [2.5], [1.0]]


def test_nothing_is_asked_after_the_deadline() -> None:
    scene = Scene({"n1": [not_leader("n2")], "n2": [OK]})
    scene.clock.step = 4.0
    assert scene.perform(WRITE).type == "fail"
    assert scene.asked == ["n1"]


def test_a_silent_node_is_left_alone_for_a_while_and_then_tried_again() -> None:
    scene = Scene({"n1": [LOST, OK], "n2": [OK], "n3": [OK]})
    assert scene.perform(WRITE).type == "info"
    assert scene.perform(WRITE).node == "n2"
    scene.clock.now += AVOID_S + 0.1
    assert scene.perform(WRITE).node == "n1"
    assert scene.asked == ["n1", "n2", "n1"]


def test_when_all_are_silent_it_is_the_home_node_that_is_asked() -> None:
    scene = Scene({node: [REFUSED] for node in NODES})
    for _ in range(4):
        assert scene.perform(WRITE).type == "fail"
    assert scene.asked == ["n1", "n2", "n3", "n1"]


def test_a_client_that_follows_its_node_never_avoids_it() -> None:
    scene = Scene({"n1": [LOST], "n2": [OK]}, follows="node")
    scene.perform(WRITE)
    scene.perform(WRITE)
    assert scene.asked == ["n1", "n1"]


def test_a_failed_read_says_no_value_and_closing_closes_all() -> None:
    scene = Scene({"n1": [AFTER], "n2": [OK]})
    outcome = scene.perform(READ)
    assert (outcome.type, outcome.value) == ("fail", None)
    scene.requests.clear()
    asyncio.run(scene.client.close())
    assert scene.asked == ["n1", "n2"]


scripted = st.sampled_from([OK, MISMATCH, AFTER, {}, REFUSED, LOST, not_leader(None), {"ok": True, "applied": False}])
scripted |= st.sampled_from([*NODES, "n9"]).map(not_leader)  # n9: a node that we do not know


def may_have_had_an_effect(answer: Any) -> bool:
    if isinstance(answer, Exception):
        return isinstance(answer, LostError)
    return answer.get("stage") != "before-append"


@settings(max_examples=150)
@given(
    st.fixed_dictionaries({node: st.lists(scripted, min_size=1, max_size=4) for node in NODES}),
    st.lists(st.sampled_from([WRITE, CAS]), min_size=1, max_size=5),
    st.sampled_from(["leader", "node"]),
)
def test_an_operation_that_may_have_had_an_effect_is_never_sent_twice(
    scripts: dict[str, list[Any]], invocations: list[Invocation], follows: str
) -> None:
    for script in scripts.values():
        script.append({})  # the last line of a script is its answer forever: one that ends an operation
    scene = Scene(scripts, follows=follows)
    given_answers = {node: list(script) for node, script in scripts.items()}
    for invocation in invocations:
        scene.requests.clear()
        outcome = scene.perform(invocation)
        answers = [given_answers[n].pop(0) if len(given_answers[n]) > 1 else given_answers[n][0] for n in scene.asked]
        assert not any(may_have_had_an_effect(answer) for answer in answers[:-1])
        assert len(set(scene.asked)) == len(scene.asked) <= (MAX_HOPS if follows == "leader" else 1)
        if outcome.type == "fail":
            assert answers[-1] is MISMATCH or not may_have_had_an_effect(answers[-1])


def test_reads_are_asked_for_in_the_mode_of_the_plan_and_final_ones_through_the_log() -> None:
    scene = Scene({node: [OK] for node in NODES}, read_mode="unsafe")
    scene.perform(READ)
    scene.perform(Invocation("read", "k0", final=True))
    assert [request["mode"] for _, request in scene.requests] == ["unsafe", "log"]


def test_when_all_is_healed_a_client_follows_the_leader_whatever_it_did_before() -> None:
    scene = Scene({"n1": [not_leader("n2")], "n2": [OK], "n3": [OK]}, follows="node")
    assert scene.perform(READ).type == "fail"
    assert scene.perform(Invocation("read", "k0", final=True)).node == "n2"
