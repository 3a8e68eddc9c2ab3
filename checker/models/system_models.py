"""The models that installed systems under test declare: objects that only one of them has.

A system names them among its declarations (``models``), and is found as the harness finds it, by its entry point: so
the model of a recorded history is known wherever its package is installed.  Workers of a Spark cluster are sent ours
alone, and name one that they lack.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cache

from checker.core.model import Model
from history.system_entry_points import system_entry_points

log = logging.getLogger(__name__)


@cache
def system_models() -> Mapping[str, Callable[[], Model]]:
    """The models of all systems that can be loaded, by name."""
    found: dict[str, Callable[[], Model]] = {}
    for point in system_entry_points().values():
        try:
            found |= getattr(point.load(), "models", {})
        except Exception:  # a third party's module, or a part that is not installed: `harness list-systems` says why
            log.debug("no models of %s", point.name, exc_info=True)
    return found
