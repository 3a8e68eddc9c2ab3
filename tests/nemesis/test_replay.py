"""A replayed fault keeps to its receipt: whatever was drawn then, pids and the like aside."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from harness.testing import world
from nemesis.core.fault import Targets
from nemesis.faults.registry import FAULTS, find
from tests.support.nemesis.clocks import clocked

#: Found anew: they are facts of the moment.
OF_THE_MOMENT = {"pids", "devices", "term", "before", "before_ms", "from"}
#: The toy's nodes know nothing of disks; these draw nothing but whom to hit.
RESOURCES = {"cpu-starve", "memory-pressure", "disk-slow"}
#: The toy's servers are one process each.
SEVERAL = {"kill-one-process"}


def planned(ctx, fault, seed):
    targets = fault.plan(ctx, random.Random(seed))
    return targets, {name: value for name, value in targets.detail.items() if name not in OF_THE_MOMENT}


@pytest.mark.parametrize("name", sorted(set(FAULTS) - RESOURCES - SEVERAL))
@pytest.mark.parametrize("seed", range(5))
def test_another_draw_gives_the_recorded_fault(name, seed):
    fault = find(name)
    ctx = clocked() if name.startswith("clock") else world()[0]
    first, detail = planned(ctx, fault, seed)
    recorded = Targets.from_json(json.loads(json.dumps({"nodes": list(first.nodes), **first.to_json()})))
    again, repeated = planned(replace(ctx, wanted=recorded), fault, seed + 1000)
    assert (set(again.nodes), again.grudge) == (set(first.nodes), first.grudge)
    assert json.loads(json.dumps(repeated)) == json.loads(json.dumps(detail))
