"""Indexes with epochs are written in hexadecimal, and never subtracted across epochs."""

from __future__ import annotations

from history.records.indexes import between, index_text


def test_an_index_is_written_as_its_system_writes_it() -> None:
    assert index_text(0x200000C2F, 32) == "0x200000c2f"
    assert index_text(8589937711) == "8589937711"
    assert index_text(-1, 32) == "-1"


def test_entries_are_counted_within_an_epoch_only() -> None:
    assert between(0x20000000F, 0x200000005, 32) == 10
    assert between(0x20000000F, 0x1000008C3, 32) is None
    assert between(0x20000000F, 0x1000008C3) == 0x20000000F - 0x1000008C3
    assert between(5, -1, 32) == 6
