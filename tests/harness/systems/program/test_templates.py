"""Command lines with placeholders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.systems.program.templates import check, fill, words_of

KNOWN = ("node", "peers", "replication")


def test_a_line_is_split_before_anything_is_filled_in() -> None:
    words = words_of("sh -c 'echo {node} \"$1\"' x {peers}")
    values = {"node": "n1", "peers": "a b; rm -rf /"}
    assert [fill(word, values) for word in words] == ["sh", "-c", 'echo n1 "$1"', "x", "a b; rm -rf /"]


def test_a_list_is_taken_as_it_is() -> None:
    assert words_of(("server", "two words")) == ("server", "two words")


@pytest.mark.parametrize("line", ["", "   "])
def test_a_command_has_words(line: str) -> None:
    with pytest.raises(ValueError, match="a command needs at least one word"):
        words_of(line)


def test_quotes_must_be_closed() -> None:
    with pytest.raises(ValueError, match="No closing quotation"):
        words_of("sh -c 'oh")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{nod}", r"'{nod}': there is no placeholder {nod}; did you mean node\?"),
        ("{x}", "there is no placeholder {x}; the choices are node, peers, replication"),
        ("{node", "to write a brace, double it"),
        ("}", "to write a brace, double it"),
        ("{}", "{} is not a placeholder"),
        ("{node!r}", "{node} is not a placeholder"),
        ("{node:>9}", "{node} is not a placeholder"),
        ("{node.x}", "{node.x} is not a placeholder"),
        ("{node[0]}", r"{node\[0\]} is not a placeholder"),
        ('{"a": 1}', "is not a placeholder"),
    ],
)
def test_what_is_no_placeholder_is_reported(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check(text, KNOWN)


def test_braces_are_written_twice() -> None:
    check('{{"a": "{node}"}}', KNOWN)
    assert fill('{{"a": "{node}"}}', {"node": "n1"}) == '{"a": "n1"}'


@given(st.text())
def test_a_text_whose_braces_are_doubled_is_itself(text: str) -> None:
    doubled = text.replace("{", "{{").replace("}", "}}")
    check(doubled, ())
    assert fill(doubled, {}) == text


@given(st.text(), st.text())
def test_what_is_filled_in_is_never_read_again(before: str, value: str) -> None:
    doubled = before.replace("{", "{{").replace("}", "}}")
    assert fill(doubled + "{node}", {"node": value}) == before + value
