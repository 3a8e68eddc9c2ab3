"""How random tests draw: the same examples in every run, fresh ones where HYPOTHESIS_PROFILE=nightly asks for them.

A failing example is printed as it was drawn, to be kept with ``@example``; fresh ones also print a blob that
``@reproduce_failure`` takes.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

# Where a test says no number itself; those that do take it from ``tests.support.draws``.
settings.register_profile("default", derandomize=True, database=None, deadline=None, max_examples=40)
settings.register_profile("nightly", derandomize=False, database=None, deadline=None, print_blob=True, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# Tests make much and keep little: to look for cycles every 700 objects takes more than it frees.
gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from what is collected, for all of it stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def hangups() -> Iterator[None]:
    """Hear SIGHUP: under nohup it is ignored, here and in every program that a test starts."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
