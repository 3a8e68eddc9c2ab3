"""Claims of the story on top of a page about what clients were answered, each checked by the raw files alone."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.support.reports.claims import assert_placed, close, number
from tests.support.reports.raw import Raw, S

# -- registers: a read is stale if a write replaced its value and ended before it began ------------------


def stale_reads(raw: Raw) -> list[dict[str, Any]]:
    every = [one for one in raw.operations() if one["type"] != "fail"]
    writes = {(one["key"], one["value"]): one for one in every if one["f"] == "write"}
    found = []
    for read in every:
        if read["f"] != "read" or read["type"] != "ok":
            continue
        made = writes.get((read["key"], read["result"]))
        over = made["end"] if made else 0.0
        newer = (w for (key, _), w in writes.items() if key == read["key"] and w is not made and w["end"])
        if over is not None and any(over < w["begin"] and w["end"] < read["begin"] for w in newer):
            found.append(read)
    return found


def first_stale(raw: Raw, match: re.Match[str]) -> None:
    process, node, began = int(match["reader"]), match["node"], float(match["began"])
    (read,) = [
        one
        for one in stale_reads(raw)
        if (one["process"], one["node"]) == (process, node) and abs(one["begin"] - began) < 0.0006
    ]
    assert (read["key"], read["result"]) == (match["key"], None), "absent at the start, and again"
    (write,) = [
        one
        for one in raw.operations()
        if one["f"] == "write" and (one["key"], str(one["value"])) == (read["key"], match["wrote"])
    ]
    assert (write["process"], write["node"], write["type"]) == (int(match["writer"]), match["by"], "ok")
    assert close(match["from"], write["begin"], 0.0006)
    assert close(match["to"], write["end"], 0.0006)
    assert write["end"] < read["begin"]
    assert match["missed"] == match["wrote"]
    others = [one for one in raw.operations() if one["f"] == "write" and one["key"] == read["key"]]
    assert any(one["end"] is None or one["end"] > write["begin"] for one in others if one is not write)


def shown(raw: Raw) -> tuple[list[dict[str, Any]], int]:
    """The counterexamples that the results hold, and how many violations they count."""
    examples = [one for key in raw.results["keys"] for one in key["counterexamples"]]
    count = sum(key["violations"] for key in raw.results["keys"])
    for check in raw.results["checks"]:
        if check["verdict"] == "invalid" and not count:
            examples += check.get("counterexamples") or []
            count += sum(one.get("count", 0) for one in check.get("findings") or ())
    return examples, count


def counted(raw: Raw, match: re.Match[str]) -> None:
    """How many violations the results have, and whether there may be more."""
    _, count = shown(raw)
    if raw.header["model"] == "register":
        # Reads that contradict the same operations by the same answer are one violation.
        assert 0 < count <= len(stale_reads(raw))
    assert number(match["count"]) == count
    more = any("there may be more" in (key.get("reason") or "") for key in raw.results["keys"] if key["violations"])
    assert more == bool(match["least"])


def answered(raw: Raw, match: re.Match[str]) -> None:
    """The first answer that leaves no order: which node gave it, when, and what it was in the words of a label."""
    if raw.header["model"] == "register":
        first = min(one["end"] for one in stale_reads(raw))
    else:
        first = min(answer_of(one) for one in shown(raw)[0])
    assert_placed(raw, match, first)
    reads = [one for one in raw.operations() if one["f"] == "read" and one["end"] and abs(one["end"] - first) < 1e-6]
    (read,) = [one for one in reads if one["node"] == match["node"]]
    said, result = match["said"], read["result"]
    if isinstance(result, list) and (held := re.fullmatch(r"read of (\d+), without (\d+)", said)):
        assert int(held[1]) == len(result)
        assert int(held[2]) in elements_missed(raw, read)
        example = min(shown(raw)[0], key=answer_of)
        assert int(held[2]) in [one["value"] for one in example["operations"] if one["f"] == "add"]
    elif isinstance(result, list):  # a master, its epoch, a set, and the epoch of that
        assert eval_list(said) == eval_list(json.dumps(result))
    elif isinstance(result, dict):
        ends = re.fullmatch(r"read: finds no entry (\d+), the ledger ends at (\d+)", said)
        assert ends is not None, said
        assert result["entries"][int(ends[1])] is None
        assert int(ends[2]) == result["last"]
    else:
        assert said == f"read {'absent' if result is None else result}"


def answer_of(example: dict[str, Any]) -> float:
    """When the last of a counterexample's operations that were answered was answered: those of its suspect."""
    suspects = (example.get("linearization") or {}).get("suspects") or []
    operations = example["operations"]
    mine = [operations[place] for place in suspects] or [one for one in operations if one["outcome"] == "ok"]
    return float(max(one["returned"] for one in mine)) / S


# -- ledgers ----------------------------------------------------------------------------------------------------------


def unreadable(raw: Raw, match: re.Match[str]) -> None:
    said = {}
    for name in ("adder", "reader"):
        process, node = int(match[name]), match[f"{name}_node"]
        found = [
            one
            for one in raw.operations()
            if (one["process"], one["node"]) == (process, node)
            and close(match[f"{name}_from"], one["begin"], 0.0006)
            and close(match[f"{name}_to"], one["end"], 0.0006)
        ]
        assert len(found) == 1, (name, found)
        said[name] = found[0]
    entry = int(match["id"])
    add, read = said["adder"], said["reader"]
    assert add["key"] == read["key"] == match["key"]
    assert add["result"][add["value"].index(int(match["value"]))] == entry
    assert read["result"]["last"] >= entry
    assert read["result"]["entries"][entry] is None


# -- sets -------------------------------------------------------------------------------------------------------------


def elements_missed(raw: Raw, read: dict[str, Any]) -> list[int]:
    adds = [one for one in raw.operations() if one["f"] == "add" and one["type"] == "ok"]
    return sorted(one["value"] for one in adds if one["end"] < read["begin"] and one["value"] not in read["result"])


def read_of(raw: Raw, process: str, node: str, began: str) -> dict[str, Any]:
    """The read that a process began then."""
    reads = [one for one in raw.operations() if one["f"] == "read" and one["type"] == "ok"]
    mine = [one for one in reads if (one["process"], one["node"]) == (int(process), node)]
    mine = [one for one in mine if close(began, one["begin"], 0.0006)]
    assert mine
    return mine[-1]


def losses(raw: Raw, match: re.Match[str]) -> None:
    """What the last read of each node lacks, by itself and beside those of the others, and since when."""
    lacking, ends = {}, {}
    for read in (one for one in raw.operations() if one["f"] == "read" and one["type"] == "ok"):
        if read["phase"] == "final":
            ends[read["node"]] = read
    for node, read in ends.items():
        if missed := elements_missed(raw, read):
            lacking[node] = set(missed)
    said = dict(re.findall(r"(n\d+) lacks ([\d,]+)", match[0]))
    assert {node: number(count) for node, count in said.items()} == {node: len(one) for node, one in lacking.items()}
    since = {}
    adds = {one["value"]: one["end"] for one in raw.operations() if one["f"] == "add" and one["type"] == "ok"}
    for node, missing in lacking.items():
        reads = [one for one in raw.operations() if one["f"] == "read" and one["type"] == "ok" and one["node"] == node]
        moments = []
        for element in missing:
            had = max((one["begin"] for one in reads if element in one["result"]), default=0.0)
            without = [one["end"] for one in reads if one["begin"] > max(had, adds[element])]
            moments.append(min(without))
        since[node] = min(moments)
    reported = re.findall(r"(n\d+) lacks [^;]*? seen since ([\d.]+) s", match[0])
    assert [node for node, _ in reported] == sorted(since, key=lambda node: since[node])
    assert all(close(moment, since[node]) for node, moment in reported)
    assert_placed(raw, match, min(since.values()))
    held = all(
        any(element in read["result"] for other, read in ends.items() if other != node)
        for node, missing in lacking.items()
        for element in missing
    )
    assert held == ("every one of them" in match[0])


def added(raw: Raw, match: re.Match[str]) -> None:
    """When what the last read of a node lacks was acknowledged, by which nodes, and that it was silent all the time."""
    reads = [one for one in raw.operations() if one["f"] == "read" and one["type"] == "ok"]
    last = max((one for one in reads if one["node"] == match["node"]), key=lambda one: one["begin"])
    missed = set(elements_missed(raw, last))
    adds = [one for one in raw.operations() if one["f"] == "add" and one["value"] in missed]
    first, until = min(one["end"] for one in adds), max(one["end"] for one in adds)
    assert close(match["from"], first)
    assert close(match["to"], until)
    assert re.findall(r"n\d+", match["by"]) == sorted({one["node"] for one in adds})
    assert match["silent"] == match["node"]
    assert not [one for one in raw.of(match["node"]) if first <= one["time"] / S <= until]
    name, began, healed = raw.fault(int(match["under"]))
    assert name == match["struck"]
    assert began <= first <= until <= healed
    if match["id"]:
        other, began, healed = raw.fault(int(match["id"]))
        assert (other, began <= first <= healed) == (match["fault"], True)
        assert close(match["off"], first - began, 0.11)


def lost(raw: Raw, match: re.Match[str]) -> None:
    element = int(match["element"])
    assert {match["answered"], match["unseen"]} == {match["element"]}
    (add,) = [one for one in raw.operations() if one["f"] == "add" and one["value"] == element]
    assert (add["process"], add["node"], add["type"], add["result"]) == (
        int(match["adder"]), match["adder_node"], "ok", element,
    )  # fmt: skip
    assert close(match["from"], add["begin"], 0.0006)
    assert close(match["to"], add["end"], 0.0006)
    read = read_of(raw, match["reader"], match["node"], match["began"])
    assert element in elements_missed(raw, read)
    later = [
        one for one in raw.operations() if one["f"] == "read" and one["type"] == "ok" and one["end"] > read["begin"]
    ]
    nodes = {one["node"] for one in later}
    assert re.findall(r"n\d+", match["holding"]) == sorted(
        node for node in nodes if all(element in one["result"] for one in later if one["node"] == node)
    )


# -- sync state sets: which states the object can have had ------------------------------------------------------------


def epochs(raw: Raw, match: re.Match[str]) -> None:
    """The read, and of each state that is named that a client asked for it, at an epoch that was free until then."""
    every = raw.operations()
    (read,) = [
        one
        for one in every
        if (one["process"], one["node"], one["f"]) == (int(match["process"]), match["node"], "read")
        and close(match["from"], one["begin"], 0.00006)
        and close(match["to"], one["end"], 0.00006)
    ]
    state = r"master (\d+) of epoch (\d+), sync state set (\[[\d, ]*\]) of epoch (\d+)"
    (said,) = re.findall(state, match["said"])
    assert [int(said[0]), int(said[1]), eval_list(said[2]), int(said[3])] == read["result"]
    before = [one for one in every if one["begin"] < read["end"] and one["f"] in ("alter", "elect")]
    could = re.findall(state, match["could"])
    assert could
    for master, elected_in, members, epoch in could:  # an alter names the epoch before it
        wanted = [int(master), int(elected_in), int(epoch) - 1, eval_list(members)]
        assert any(one["value"] == wanted for one in before if one["f"] == "alter"), wanted
    examples = [one for key in raw.results["keys"] for one in key["counterexamples"]]
    assert int(match["beside"]) in [len(one["operations"]) - 1 for one in examples]


def granted_twice(raw: Raw, match: re.Match[str]) -> None:
    """How many changes expected an epoch before the first answer two further, and that none expected the next."""
    first = min(answer_of(one) for one in shown(raw)[0])
    every = raw.operations()
    (read,) = [one for one in every if one["f"] == "read" and one["end"] and abs(one["end"] - first) < 1e-6]
    epoch = read["result"][3]
    asked = [one["value"][2] for one in every if one["f"] == "alter" and one["type"] != "fail" and one["begin"] < first]
    assert int(match["then"]) == epoch
    assert int(match["epoch"]) == epoch - 2
    assert int(match["next"]) == int(match["none"]) == epoch - 1
    assert int(match["many"]) == asked.count(epoch - 2) > 1
    assert epoch - 1 not in asked


def epoch_skipped(raw: Raw, match: re.Match[str]) -> None:
    """The process's first answer of that epoch, before which no change that expects the one named had been begun."""
    every = raw.operations()
    seen = [one for one in every if one["f"] in ("read", "register") and one["type"] == "ok"]
    mine = [one for one in seen if one["process"] == int(match["process"]) and one["result"][3] == int(match["epoch"])]
    first = min(one["end"] for one in mine)
    assert first == min(one["end"] for one in seen if one["result"][3] == int(match["epoch"]))
    asked = {one["value"][2] for one in every if one["f"] == "alter" and one["type"] != "fail" and one["begin"] < first}
    assert int(match["none"]) < int(match["epoch"])
    assert int(match["none"]) - 1 in asked
    assert int(match["none"]) not in asked


def eval_list(text: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", text)]
