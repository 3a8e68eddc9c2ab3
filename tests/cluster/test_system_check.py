"""``harness system check`` from its command to its lines, with the example of a third party's package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.systems.conformance import FAULTS
from tests.support.cluster.machine import MakeCluster
from tests.support.harness.toy_package import EXAMPLE, install

pytestmark = pytest.mark.cluster


def test_every_part_of_the_toy_register_is_seen(make_cluster: MakeCluster, tmp_path: Path) -> None:
    toy, name = install(EXAMPLE, tmp_path), f"netns:{make_cluster().name}"
    # By this seed the holder is killed first, and at last two of the others.
    words = ("--cluster", name, "--store", str(tmp_path / "store"), "--interval", "2", "--seed", "2")
    done = toy.harness("system", "check", "toy-register", *words)
    seen = {row[1]: row[2] for row in re.finditer(r"^(\S.*?) +(yes|WRONG|missing) ", done.stdout, re.M)}
    parts = {"start, ready", "outcomes", *FAULTS, "heal", "promises", "probes", "collect", "wipe", "planted bug"}
    assert set(seen) == parts
    assert set(seen.values()) == {"yes"}, done.stdout + done.stderr
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"runs: {tmp_path / 'store'}")
