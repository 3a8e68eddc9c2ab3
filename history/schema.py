"""Check files that people write against types, with the same wording of errors for all files.

A type is a msgspec Struct or a dataclass, with bounds from ``msgspec.Meta``.  The wording comes from the type's JSON
Schema, which editors also use to complete these files: ``title`` says what a string must be, and ``description`` says
why a bound exists.
"""

from __future__ import annotations

import atexit
import gc
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields, make_dataclass
from functools import cache
from reprlib import Repr
from typing import Annotated, Any, Final, TypeAlias, TypeVar, get_type_hints

import msgspec

T = TypeVar("T")
#: An integer that fits into a column of a table.
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

# The interpreter's final garbage collection sometimes crashes (SIGSEGV in TypeNode_Free) when it frees the types that
# msgspec 0.22 made.  Frozen objects are not collected.
atexit.register(gc.freeze)

_FIELD: Final = re.compile(r"[\w ]+ (unknown|required) field `(.*)`", re.DOTALL)
#: Matches only at the end of a message, because the text before it may come from the user.
_PLACE: Final = re.compile(r" - at (`key` in )?`\$([^`]*)`\Z")
#: A key, an element of a list, or ``[...]``: some value of a table, where msgspec does not say which one.
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[\.\.\.\]")
_NOUNS: Final = {
    "integer": ("a whole number", "whole numbers"),
    "number": ("a number", "numbers"),
    "boolean": ("true or false", "true or false"),
    "string": ("a string", "strings"),
    "array": ("a list", "lists"),
    "object": ("a table", "tables"),
}
_SHORT: Final = Repr()
_SHORT.maxstring = _SHORT.maxother = 60
# These make types at run time, which a type checker cannot follow.
_any_list: Final[Any] = list
_annotated: Final[Any] = Annotated


def list_of(wanted: Any, least: int = 1) -> Any:
    """Return the type of lists with at least ``least`` elements."""
    return _annotated[_any_list[wanted], msgspec.Meta(min_length=least)]


def table(
    name: str, keys: Mapping[str, Any], *, needed: Iterable[str] = (), spelled: Mapping[str, str] | None = None
) -> type[msgspec.Struct]:
    """Return the type of a table with these keys and no others.

    Only the keys in ``needed`` are required.  ``spelled`` maps a key to its spelling in the file.
    """
    fields: list[Any] = [(key, keys[key]) for key in needed]
    fields += [(key, wanted | msgspec.UnsetType, msgspec.UNSET) for key, wanted in keys.items() if key not in needed]
    return msgspec.defstruct(name, fields, rename=spelled, forbid_unknown_fields=True)


def convert(record: Any, wanted: type[T], spell: Callable[[str], str] = str) -> T:
    """Convert a record to a value of the type.

    Raises ValueError for the first mistake, with its path in the record, such as ``matrix[0].rate must be a number
    above 0 and at most 10000, not 'x'``.  ``spell`` returns the path's first name as the user writes it.
    """
    try:
        return msgspec.convert(record, wanted)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(str(error), record, wanted, spell)) from None


def record_of(value: Any) -> Any:
    """Return a dataclass or Struct, or a list of them, as plain JSON values that :func:`convert` can read."""
    return msgspec.json.decode(msgspec.json.encode(value))


def convert_recorded(record: Any, wanted: type[T]) -> T:
    """Convert a record to a dataclass, checking types but not bounds.

    The record may have been written by a release with other bounds.  Raises ValueError like :func:`convert`.
    """
    hashable: Any = wanted
    converted = convert(record, _without_bounds(hashable))
    return wanted(**{field.name: getattr(converted, field.name) for field in fields(converted)})


@cache
def _without_bounds(wanted: Any) -> type[Any]:
    hints = get_type_hints(wanted)  # this drops ``Annotated`` and with it the bounds
    own = [
        (member.name, hints[member.name], field(default=member.default, default_factory=member.default_factory))
        for member in fields(wanted)
    ]
    return make_dataclass(wanted.__name__, own)


def hint(name: str, known: Iterable[str]) -> str:
    """Suggest a known name for an unknown one, or list all known names if none is similar."""
    choices = sorted(known)
    return suggestion(name, choices) or f"the choices are {', '.join(choices)}"


_LONGEST_NAME: Final = 100


def suggestion(name: str, known: Iterable[str]) -> str:
    """Ask whether the user meant one of up to two similar known names; empty if none is similar."""
    # Comparing a name that is much longer than any of ours would take long and find nothing.
    from difflib import get_close_matches  # imported late: only mistakes need it

    near = get_close_matches(name, sorted(known), n=2) if len(name) <= _LONGEST_NAME else []
    return f"did you mean {' or '.join(near)}?" if near else ""


def _explained(error: str, record: Any, wanted: type, spell: Callable[[str], str]) -> str:
    problem, field, path, record = _located(error, record, wanted)
    whole = msgspec.json.schema(wanted)
    schemas, place = _alternatives(_inlined(whole, whole.get("$defs", {}))), ""
    for name, number in path:
        schemas = _inside(schemas, name)
        place += f"[{number}]" if number else f".{name}" if place else spell(name)
    if problem == "unknown":
        known = {name for schema in schemas for name in schema.get("properties", ())}
        return f"{place}{': ' if place else ''}there is no key {field!r}; {hint(field, known)}"
    if problem == "required":
        return f"{place}{'.' if place else ''}{field} is missing: it must be {_words(_inside(schemas, field))}"
    if problem == "key":
        names = next((str(sub["propertyNames"]["title"]) for sub in schemas if "propertyNames" in sub), "another form")
        return f"{place} must have names of {names}, not {field!r}"
    why = next((f": {sub['description']}" for sub in schemas if sub.get("description")), "")
    return f"{place} must be {_words(schemas)}, not {_SHORT.repr(record)}{why}".lstrip()


def _located(error: str, record: Any, wanted: type) -> tuple[str, str, list[tuple[str, str]], Any]:
    """Return what is wrong (unknown, required, key or empty), the field's name, its path and the value there."""
    match = _PLACE.search(error)
    path = _path(error, match[2], record, wanted) if match else []
    if match and match[1]:
        return "key", _wrong_key(error, path, record, wanted) or "", path, _at(record, path)
    for text, place in ((error[: match.start()] if match else error, path), (error, [])):
        there = _at(record, place)
        about = _FIELD.fullmatch(text)
        # If neither holds, the apparent path is really the end of a key that the user wrote.
        if about and (about[1] == "required" or (isinstance(there, Mapping) and about[2] in there)):
            return about[1], about[2], place, there
    return "", "", path, _at(record, path)


def _path(error: str, place: str, record: Any, wanted: type) -> list[tuple[str, str]]:
    """Return the steps to a place, with a key in place of each ``[...]``; stop where no such key is found."""
    path: list[tuple[str, str]] = []
    for step in _STEP.findall(place):
        if any(step):
            path.append(step)
        elif (key := _wrong_key(error, path, record, wanted)) is not None:
            record = _replaced(record, path, {key: _at(record, path)[key]})
            path.append((key, ""))
        else:
            break
    return path


def _wrong_key(error: str, path: list[tuple[str, str]], record: Any, wanted: type) -> str | None:
    """Return the key of the table at a path that causes this error by itself."""
    held = _at(record, path)
    for key in held if isinstance(held, Mapping) else ():
        try:
            msgspec.convert(_replaced(record, path, {key: held[key]}), wanted)
        except msgspec.ValidationError as again:
            if str(again) == error:
                return str(key)
    return None


def _replaced(record: Any, path: list[tuple[str, str]], value: Any) -> Any:
    """Return a copy of the record with another value at a path."""
    if not path:
        return value
    (name, number), *rest = path
    place: Any = int(number) if number else name
    copy: Any = list(record) if number else dict(record)
    copy[place] = _replaced(record[place], rest, value)
    return copy


def _at(record: Any, path: Iterable[tuple[str, str]]) -> Any:
    """Return the value at a path; None if there is none."""
    for name, number in path:
        try:
            record = record[int(number) if number else name]
        except (LookupError, TypeError):
            return None
    return record


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return the schema with each ``$ref`` replaced by its definition."""
    if isinstance(schema, list):
        return [_inlined(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {**_inlined(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions), "description": ""}
    return {key: _inlined(value, definitions) for key, value in schema.items()}


def _alternatives(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]


def _inside(schemas: Iterable[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """Return the schemas of the value at a key, or of a list's elements if ``name`` is empty."""
    inner = [
        outer.get("properties", {}).get(name, outer.get("additionalProperties")) if name else outer.get("items")
        for outer in schemas
    ]
    return [option for schema in inner if isinstance(schema, Mapping) for option in _alternatives(schema)]


def _words(schemas: list[Mapping[str, Any]], number: int = 0) -> str:
    """Describe what is allowed, such as ``a number from 1 to 5, or a list of such``; if ``number`` is 1, in plural."""
    if len(schemas) > 1 and schemas[-1].get("type") == "array":
        return f"{_words(schemas[:-1], number)}, or a list of such"
    return " or ".join(_one(schema, number) for schema in schemas) or "something else"


def _one(schema: Mapping[str, Any], number: int) -> str:
    kind = schema.get("type")
    if schema.get("enum") == [""]:
        return "left out"
    if "enum" in schema:
        return f"one of {', '.join(map(repr, schema['enum']))}"
    if kind not in _NOUNS or (kind != "object" and "title" in schema):
        return str(schema.get("title", "anything"))
    inner = schema.get("items" if kind == "array" else "additionalProperties")
    noun = _NOUNS[kind][number] + (f" of {_words(_alternatives(inner), 1)}" if inner else "")
    least, above, most = (schema.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
    if schema.get("minItems") or schema.get("minLength"):
        return noun + (" (at least one)" if kind == "array" else " that is not empty")
    if above is not None:
        return f"{noun} above {above}" + ("" if most is None else f" and at most {most}")
    return noun if least is None else f"{noun} from {least} " + ("on" if most is None else f"to {most}")
