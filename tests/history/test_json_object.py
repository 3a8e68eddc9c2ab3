"""How deep lists and objects are nested."""

from __future__ import annotations

from typing import Any

import pytest

from history.json_object import is_deeper


@pytest.mark.parametrize(
    ("value", "levels"),
    [(3, 0), ([], 1), ({"a": 1}, 1), ([1, [2]], 2), ([[1]] * 500, 2), ({"a": [], "b": {"c": [None]}}, 3)],
)
def test_a_value_is_as_deep_as_its_deepest_part(value: Any, levels: int) -> None:
    assert not is_deeper(value, levels)
    assert levels == 0 or is_deeper(value, levels - 1)
