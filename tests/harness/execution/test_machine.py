"""The name of the control node, by which figures are compared: the same after every boot."""

from __future__ import annotations

import math

import pytest

from harness.execution.machine import machine, memory_gib

GIB = 1 << 30
SOLD = (
    *(1, 2, 3.75, 4, 6, 7.5, 8, 10, 12, 14, 15.25, 16, 18, 20, 24, 30.5, 32, 36, 40, 48),
    *(61, 64, 72, 96, 122, 128, 192, 256, 384, 512),
)


@pytest.mark.parametrize("size", SOLD)
def test_a_machine_has_one_size_whatever_its_kernel_keeps(size: float) -> None:
    assert len({memory_gib(int(size * GIB * (1 - kept / 1000))) for kept in range(2, 51)}) == 1


def test_sizes_go_up_in_steps_and_none_is_below_what_is_there() -> None:
    found = [memory_gib(tenth * GIB // 10) for tenth in range(1, 700)]
    assert list(dict.fromkeys(found)) == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96]
    assert all(size >= math.ceil(tenth / 10) for tenth, size in zip(range(1, 700), found, strict=True))
    assert [memory_gib(size * GIB) for size in (1, 2, 3, 4, 6, 24)] == [1, 2, 3, 4, 6, 24]


def test_the_name_is_stable() -> None:
    assert machine() == machine()
    assert machine().endswith(" GiB")
