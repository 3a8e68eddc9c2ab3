"""What is wrong in a file is said in one wording: where, what stands there, what may."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from history.json_object import load_object
from history.schema import convert, hint

Count = Annotated[int, Meta(ge=1, le=9, description="one hand is not enough for more")]


class Part(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1)]
    count: Count | list[Count] = 1
    share: Annotated[float, Meta(gt=0, le=0.5)] = 0.1
    kind: Literal["a", "b"] | None = None
    weights: dict[str, Annotated[float, Meta(ge=0)]] = {}
    on: bool = False


class Whole(Struct, forbid_unknown_fields=True):
    parts: Annotated[list[Part], Meta(min_length=1)]
    code: Annotated[str, Meta(pattern="^[a-z]$", title="a small letter")] = "a"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"name": ""}, "parts[0].name must be a string that is not empty, not ''"),
        ({}, "parts[0].name is missing: it must be a string that is not empty"),
        ({"name": "x", "nmae": 1}, "parts[0]: there is no key 'nmae'; did you mean name?"),
        (
            {"name": "x", "zzz": 1},
            "parts[0]: there is no key 'zzz'; the choices are count, kind, name, on, share, weights",
        ),
        (
            {"name": "x", "count": 0},
            "parts[0].count must be a whole number from 1 to 9, or a list of such, not 0: o",
        ),
        ({"name": "x", "count": [1, 10]}, "parts[0].count[1] must be a whole number from 1 to 9, not 10: one hand is"),
        ({"name": "x", "count": 1.0}, "or a list of such, not 1.0"),
        ({"name": "x", "count": True}, "or a list of such, not True"),
        ({"name": "x", "share": float("nan")}, "parts[0].share must be a number above 0 and at most 0.5, not nan"),
        ({"name": "x", "share": 10**400}, "parts[0].share must be a number above 0 and at most 0.5, not 1000"),
        ({"name": "x", "kind": "c"}, "parts[0].kind must be one of 'a', 'b', not 'c'"),
        ({"name": "x", "weights": {"x": 1, "y": -1}}, "parts[0].weights.y must be a number from 0 on, not -1"),
        ({"name": "x", "weights": 3}, "parts[0].weights must be a table of numbers from 0 on, not 3"),
        ({"name": "x", "on": 1}, "parts[0].on must be true or false, not 1"),
        (5, "parts[0] must be a table, not 5"),
    ],
)
def test_the_first_that_is_wrong_is_named_with_its_place(part: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        convert({"parts": [part]}, Whole)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ([], "must be a table, not []"),
        ({"parts": []}, "parts must be a list of tables (at least one), not []"),
        ({"part": []}, "there is no key 'part'; did you mean parts?"),
        ({"parts": [{"name": "x"}], "code": "xx" * 99}, "--code must be a small letter, not 'xxxxx"),
    ],
)
def test_the_first_name_of_a_place_is_spelled_as_the_user_does(record: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        convert(record, Whole, lambda name: f"--{name}" if name == "code" else name)
    assert str(caught.value).startswith(said)
    assert len(str(caught.value)) < 120


#: Texts made of the words that msgspec's own messages are made of.
worded = st.lists(
    st.sampled_from(["`", " - at `$", ".parts", ".x", "[0]", "[...]", "$", "name", " unknown field `", "\n", "'", ""])
).map("".join)
anything = st.recursive(
    worded | st.integers(-1, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(worded | st.sampled_from(["parts", "name"]), inner),
    max_leaves=6,
)


@given(worded)
def test_an_unknown_key_is_named_whatever_it_reads(key: str) -> None:
    for record, place in (({key: {}}, ""), ({"parts": [{"name": "x", key: {}}]}, "parts[0]: ")):
        if key not in ("name", "parts"):
            with pytest.raises(ValueError, match=r".") as caught:
                convert(record, Whole)
            assert str(caught.value).startswith(f"{place}there is no key {key!r}; ")


@given(anything)
def test_any_record_is_converted_or_refused_in_words(record: Any) -> None:
    try:
        found = convert(record, Whole)
    except ValueError as error:
        assert str(error)  # noqa: PT017 (both are right)
    else:
        assert isinstance(found, Whole)


def test_what_fits_is_the_value() -> None:
    assert convert({"parts": [{"name": "x", "share": 0.5, "count": [1]}]}, Whole).parts[0].count == [1]


def test_text_that_no_encoding_holds_is_refused_as_any_other() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        convert({"\ud800": 1}, Whole)


def test_a_hint_names_what_is_near_or_all() -> None:
    assert hint("brigde", ["bridge", "kill"]) == "did you mean bridge?"
    assert hint("zzz", ["kill", "bridge"]) == "the choices are bridge, kill"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "expected a JSON object, found list"),
        (b"", "expected a JSON object: Expecting value"),
        (b"\xff", "expected a JSON object: 'utf-8' codec"),
        ('{"a":' * 100_000, "expected a JSON object, found one that is nested too deeply"),
    ],
)
def test_what_is_no_object_is_named(text: str | bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        load_object(text)
    assert load_object(b'{"a": 1}') == {"a": 1}
