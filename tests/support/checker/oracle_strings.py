"""Small random histories of one object of strings, with some wrong answers."""

from __future__ import annotations

from random import Random
from typing import Any

from history import Operation

#: Pieces of which some are as long as two others together.
PIECES = ("a", "bb", "c", "dd", "e", "ff", "g", "hh", "i", "jj", "k", "ll", "m")


def random_strings(random: Random, most: int = 8) -> list[Operation]:
    """Make a history of a store whose operations take effect at single moments, and which sometimes answers wrong text.

    Most histories have each piece once; others repeat some pieces, or have pieces that are prefixes of others.  Pending
    operations may or may not take effect.
    """
    kind = random.choice(["clear", "clear", "again", "unclear"])
    processes, lies = random.randint(1, 4), random.choice([0.0, 0.1, 0.4])
    state, events, fresh = "", 0, 0
    open_now: dict[int, dict[str, Any]] = {}
    done: list[dict[str, Any]] = []
    while len(done) + len(open_now) < most or open_now:
        events += 1
        process = random.randrange(processes)
        if (mine := open_now.get(process)) is None:
            if len(done) + len(open_now) >= most:
                process = random.choice(list(open_now))
                mine = open_now[process]
            else:
                f = random.choice(["put", "append", "append", "get", "get"])
                known = (
                    PIECES[:fresh] if kind == "again" and fresh and random.random() < 0.3 else PIECES[fresh : fresh + 1]
                )
                piece = random.choice(["a", "ab", "b", "ba"] if kind == "unclear" else known)
                fresh += f != "get"
                open_now[process] = {
                    "process": process, "f": f, "value": None if f == "get" else piece,
                    "invoke_index": events, "invoked": events, "taken": False,
                }  # fmt: skip
                continue
        if not mine["taken"] and random.random() < 0.7:
            state = {"put": mine["value"], "append": state + (mine["value"] or ""), "get": state}[mine["f"]]
            mine.update(taken=True, result=state if mine["f"] == "get" else mine["value"])
        elif random.random() < 0.15 or not mine["taken"]:
            if random.random() < 0.3:
                done.append({**open_now.pop(process), "outcome": "info"})
        else:
            done.append({**open_now.pop(process), "outcome": "ok", "return_index": events, "returned": events})
            if mine["f"] == "get" and random.random() < lies:
                done[-1]["result"] = _lie(random, mine["result"], fresh)
    return [_operation(one) for one in sorted(done, key=lambda one: one["invoke_index"])]


def _lie(random: Random, text: str, fresh: int) -> str:
    pieces = [piece for piece in PIECES if piece in text]
    random.shuffle(pieces)
    more = random.choice(PIECES[: fresh + 1])
    return random.choice([text[:-1], text + more, more, "", "".join(pieces), text[1:]])


def _operation(one: dict[str, Any]) -> Operation:
    ok = one["outcome"] == "ok"
    return Operation(
        process=one["process"], f=one["f"], key="k", value=one["value"], result=one["result"] if ok else None,
        outcome=one["outcome"], invoked=one["invoked"], returned=one.get("returned"),
        invoke_index=one["invoke_index"], return_index=one.get("return_index"),
    )  # fmt: skip
