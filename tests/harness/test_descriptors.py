"""A client that cannot connect because of our own limit would look like a node that does not answer."""

from __future__ import annotations

import resource

import pytest

from harness.errors import UsageError
from harness.execution.descriptors import HELPERS, OWN, require_descriptors


class Limits:
    """Of open files; ``now`` is the soft and the hard one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> None:
        self.now = soft, hard
        monkeypatch.setattr(resource, "getrlimit", lambda _: self.now)
        monkeypatch.setattr(resource, "setrlimit", self.set)

    def set(self, which: int, limits: tuple[int, int]) -> None:
        assert which == resource.RLIMIT_NOFILE
        self.now = limits


NEEDED = (100 + HELPERS) * 5 + OWN


@pytest.mark.parametrize("soft", [NEEDED, NEEDED + 1, resource.RLIM_INFINITY])
def test_a_limit_that_is_enough_stays(monkeypatch: pytest.MonkeyPatch, soft: int) -> None:
    limits = Limits(monkeypatch, soft, soft)
    require_descriptors(100, 5)
    assert limits.now == (soft, soft)


@pytest.mark.parametrize("hard", [NEEDED, 1 << 20, resource.RLIM_INFINITY])
def test_a_soft_limit_is_raised_as_far_as_is_needed(monkeypatch: pytest.MonkeyPatch, hard: int) -> None:
    limits = Limits(monkeypatch, NEEDED - 1, hard)
    require_descriptors(100, 5)
    assert limits.now == (NEEDED, hard)


def test_what_the_hard_limit_forbids_is_refused_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(monkeypatch, 256, NEEDED - 1)
    with pytest.raises(
        UsageError, match=rf"--concurrency 100 on 5 nodes needs {NEEDED} open files.*ulimit -n {NEEDED}"
    ):
        require_descriptors(100, 5)
    assert limits.now == (256, NEEDED - 1)


def test_the_limits_of_this_very_process_are_read() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    require_descriptors(1, 1)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] == before[1]
