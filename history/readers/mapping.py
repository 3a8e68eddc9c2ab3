"""Map the fields of foreign JSON objects and table rows to ours, by their usual names or as the user specifies.

``FieldMap.parse("process=client,f=method,f.get=read,type.RETURN=ok")`` reads our ``process`` from their ``client``, and
translates the value ``get`` of our ``f`` to ``read``.  A dotted name on the right reaches into objects:
``f=request.op``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from history.records.events import TYPES

#: Our fields, and the names that other tools use for them.  The first name that occurs is used.
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "process": ("process", "client", "client_id", "clientid", "worker", "thread", "session"),
    "type": ("type", "outcome", "status"),
    "f": ("f", "function", "op", "operation", "method"),
    "value": ("value", "input", "argument", "args", "arg"),
    "result": ("result", "output", "returned_value", "response"),
    "key": ("key",),
    "time": ("time", "timestamp", "ts"),
    "start": ("start", "call", "invoke", "invoked", "begin", "start_time", "starttimeunixnano"),
    "end": ("end", "return", "returned", "complete", "completed", "finish", "end_time", "endtimeunixnano"),
    "index": ("index",),
    "node": ("node",),
    "error": ("error", "err"),
}
#: Other tools' words for types of events.  A word that could mean either "failed" or "unknown" is left out.
_TYPES: Final[Mapping[str, str]] = {
    "invoke": "invoke", "call": "invoke", "invocation": "invoke",
    "ok": "ok", "success": "ok",
    "fail": "fail",
    "info": "info", "unknown": "info", "timeout": "info",
}  # fmt: skip
_ABSENT: Final = object()
_WHOLE: Final = frozenset((*NAMES["value"], *NAMES["result"]))


class MappingError(ValueError):
    """A mapping names an unknown field or cannot be parsed."""


@dataclass(frozen=True, slots=True)
class FieldMap:
    """A mapping from the user.

    ``fields`` maps our field names to theirs.  ``words`` maps, for each of our fields, their values to ours.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> FieldMap:
        """Parse a mapping such as ``process=client,f=method,f.get=read``.  Raises MappingError."""
        fields: dict[str, str] = {}
        words: dict[str, dict[str, str]] = {}
        for item in filter(None, (part.strip() for part in text.split(","))):
            ours, separator, theirs = item.partition("=")
            name, dot, word = ours.partition(".")
            if not separator or not theirs or name not in NAMES or (dot and not word):
                known = f"a field of {', '.join(NAMES)}"
                raise MappingError(f"expected FIELD=THEIRS or FIELD.THEIR_VALUE=OURS with {known}, found {item!r}")
            if dot:
                words.setdefault(name, {})[word] = theirs
            else:
                fields[name] = theirs
        return cls(fields, words)


class Mapped:
    """The mapping of one file, learned from its objects.  Call it with an object to get our field names."""

    def __init__(self, chosen: FieldMap, objects: Sequence[Mapping[str, Any]]) -> None:
        self.chosen = chosen
        #: Maps our field to the path of theirs.
        self.fields: dict[str, str] = dict(chosen.fields)
        there: dict[str, str] = {}
        for record in objects:
            for name, value in record.items():
                # An object can only be a value or a result: a field ``call`` with an operation is not a start time.
                if not isinstance(value, Mapping) or _plain(name) in _WHOLE:
                    there.setdefault(_plain(name), name)
        taken = set(self.fields.values())
        for ours, candidates in NAMES.items():
            if ours in self.fields:
                continue
            theirs = next((there[name] for name in map(_plain, candidates) if name in there), None)
            if theirs is not None and theirs not in taken:
                self.fields[ours] = theirs
                taken.add(theirs)

    def __call__(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return an object with our field names, without the fields that it lacks."""
        mapped: dict[str, Any] = {}
        for ours, path in self.fields.items():
            value = _at(record, path)
            if value is not _ABSENT:
                mapped[ours] = self._word(ours, value)
        return mapped

    def _word(self, ours: str, value: Any) -> Any:
        if ours == "error" and not value:
            return None  # an empty text or a code of 0 means that there was no error
        words = self.chosen.words.get(ours)
        if words and (text := value if isinstance(value, str) else json.dumps(value, default=str)) in words:
            return words[text]
        if isinstance(value, str):
            if ours == "type":
                return _TYPES.get(value.lower().lstrip(":"), value)
            if ours == "f":
                return value.lstrip(":")
        return value


def _plain(name: str) -> str:
    """Normalize a name: ``Client-ID`` becomes ``client_id``."""
    return name.lstrip(":").replace("-", "_").lower()


def _at(record: Any, path: str) -> Any:
    """Return the value at a dotted path; a field whose own name contains the dots takes precedence."""
    if isinstance(record, Mapping):
        if path in record:
            return record[path]
        name, dot, rest = path.partition(".")
        if dot and name in record:
            return _at(record[name], rest)
    return _ABSENT


def pasteable(objects: Sequence[Mapping[str, Any]], mapped: Mapped, needed: Iterable[str]) -> str:
    """Return a complete ``--map`` for objects like these, with a guess for each needed field that is missing.

    If no object has the type of an invocation, the map translates each type that occurs.
    """
    fields = mapped.fields
    names = [path for record in objects[:1] for path in _paths(record)]
    free = [name for name in names if name not in fields.values()]
    parts = [f"{ours}={theirs}" for ours, theirs in fields.items()]
    parts += [
        f"{ours}.{word}={meaning}" for ours, words in mapped.chosen.words.items() for word, meaning in words.items()
    ]
    missing = [ours for ours in needed if ours not in fields]
    parts += [f"{ours}={free.pop(0) if free else 'THEIR_FIELD'}" for ours in missing]
    if not missing:
        kinds = dict.fromkeys(mapped(record).get("type") for record in objects)
        unknown = [word for word in kinds if isinstance(word, str) and word not in TYPES]
        parts += [
            f"type.{word}={type_}" for word, type_ in zip(unknown, (*TYPES, *[TYPES[-1]] * len(unknown)), strict=False)
        ]
    return ",".join(parts)


def _paths(record: Mapping[str, Any], prefix: str = "") -> list[str]:
    paths = []
    for name, value in record.items():
        inside = _paths(value, f"{prefix}{name}.") if isinstance(value, Mapping) else []
        paths += inside or [f"{prefix}{name}"]
    return paths
