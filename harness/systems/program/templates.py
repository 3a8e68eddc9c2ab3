"""Command lines with placeholders: ``python3 {files}/server.py --id {index} --peers {peers}``.

A line is split into words as by a shell before placeholders are filled in.  So values are never split and never seen by
a shell.  ``{{`` and ``}}`` stand for braces.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from string import Formatter

from history.schema import hint


def words_of(line: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command line, which may already be split.  Raises ValueError if it has none."""
    words = tuple(shlex.split(line)) if isinstance(line, str) else line
    if not words:
        raise ValueError("a command needs at least one word")
    return words


def check(text: str, known: Iterable[str]) -> None:
    """Check that a string has only known placeholders and no stray braces.  Raises ValueError."""
    names = set(known)
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}; to write a brace, double it") from None
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if form or conversion or not name.replace("_", "").replace("-", "").isalnum():
            raise ValueError(f"{text!r}: {{{name}}} is not a placeholder; to write a brace, double it")
        if name not in names:
            raise ValueError(f"{text!r}: there is no placeholder {{{name}}}; {hint(name, names)}")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders in a string that was already checked."""
    return "".join(literal + ("" if name is None else values[name]) for literal, name, _, _ in Formatter().parse(text))
