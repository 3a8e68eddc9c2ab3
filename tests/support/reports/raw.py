"""The files of a run, read only with json, so that nothing is shared with the page's code."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

S = 1e9


class Raw:
    """History, probes, recorded checks and logs; times are in seconds."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.header = json.loads((root / "history.jsonl").read_text().splitlines()[0])
        self.events = [json.loads(line) for line in (root / "history.jsonl").read_text().splitlines()[1:]]
        probes = [json.loads(line) for line in (root / "probes.jsonl").read_text().splitlines()[1:]]
        self.answers = [probe for probe in probes if probe.get("role") in ("leader", "follower", "candidate")]
        self.results = json.loads((root / "results.json").read_text())
        self.checks = {c["name"]: c for c in self.results["checks"]}
        self.end = max(record["time"] for record in [*self.events, *probes]) / S
        self.nodes = sorted({probe["node"] for probe in probes})

    def of(self, node: str) -> list[dict[str, Any]]:
        return [probe for probe in self.answers if probe["node"] == node]

    def last_rise(self, node: str, name: str) -> float:
        mine = self.of(node)
        return max(b["time"] for a, b in pairwise(mine) if b[name] > a[name]) / S

    def fault(self, number: int) -> tuple[str, float, float]:
        """Return the name, start and end of each fault, according to the nemesis's own events."""
        own = [e for e in self.events if e["process"] == "nemesis" and (e.get("value") or {}).get("id") == number]
        return own[0]["f"], own[0]["time"] / S, own[-1]["time"] / S

    def served(self) -> list[float]:
        """Return when clients were answered by a node that had applied the operation."""
        return [
            e["time"] / S for e in self.events if e["type"] == "ok" and not e.get("error") and e["process"] != "nemesis"
        ]

    def asked(self, *, final: bool) -> list[float]:
        asked = [e for e in self.events if e["type"] == "invoke" and e["process"] != "nemesis"]
        return [e["time"] / S for e in asked if final or e.get("phase") != "final"]

    def operations(self) -> list[dict[str, Any]]:
        """Return each invocation with its completion: ``end`` (None: never answered), ``type``, ``result``."""
        found, open_ones = [], {}
        for event in self.events:
            if event["process"] == "nemesis":
                continue
            if event["type"] == "invoke":
                one = {**event, "begin": event["time"] / S, "end": None, "type": "info", "result": None}
                open_ones[event["process"]] = one
                found.append(one)
            else:
                one = open_ones.pop(event["process"])
                one.update(end=event["time"] / S, type=event["type"], result=event.get("value"))
                one["node"] = event.get("node") or one["node"]
        return found

    def finding(self, check: str) -> dict[str, Any]:
        """Return the first finding of a check."""
        found: dict[str, Any] = self.checks[check]["findings"][0]
        return found

    def falls(self) -> list[tuple[float, str]]:
        """Return when a node's log ended before what that node had reported as committed, within one process."""
        found = []
        for node in self.nodes:
            highest: dict[int, int] = {}
            for probe in self.of(node):
                known = highest.get(probe["pid"], -1)
                if probe["log_end"] < max(known, probe["committed"]):
                    found.append((probe["time"] / S, node))
                highest[probe["pid"]] = max(known, probe["committed"])
        return sorted(found)
