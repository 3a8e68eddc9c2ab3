"""The settings of a server."""

from __future__ import annotations

import pytest

pytest.importorskip("psycopg", reason="needs the extra postgresql")

from harness.systems import Machine, Setup
from harness.systems.postgresql import SYSTEM
from harness.systems.postgresql.server import settings


@pytest.mark.parametrize(("version", "known"), [("18.6", True), ("15", True), ("12.10", False), ("12.3", False)])
def test_only_a_server_that_can_sync_the_file_system_at_once_is_told_to(version: str, known: bool) -> None:
    options = {option.name: option.default for option in SYSTEM.options}
    chosen = settings(Machine("n1", "127.0.0.1"), Setup(version=version, options=options))
    assert ("recovery_init_sync_method" in chosen) is known
