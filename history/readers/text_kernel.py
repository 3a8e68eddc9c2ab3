"""Compiled scanners of Jepsen's text files: one pass over the bytes, one row per event, in ``jsonl_kernel``'s columns.

They know the lines that make up nearly all of these files, ``{:type :invoke, :f :write, :value 3, :process 0, …}`` and
``INFO  jepsen.util - 0  :invoke  :write  3``. They mark any other line as strange, and the caller reads it in Python.

Functions return -1 in place of the position after a value if the value is not one that they know.
"""

from __future__ import annotations

from typing import Final

from history.codes import ABSENT
from history.compiled import compiled, compiled_part, step
from history.readers.jsonl_kernel import (
    END,
    INDEX,
    INTEGER,
    KEY,
    NEMESIS,
    NULL,
    NUMBERED,
    OLD,
    PAIR,
    PROCESS,
    SHAPE,
    START,
    STRANGE,
    TIME,
    TYPE,
    VALUE,
    F,
    blanks,
    integer_at,
    name_hash,
    string_end,
)
from history.records.events import TYPES

# Bytes are compared by their codes: 34 is a quotation mark, 44 a comma, 45 a hyphen, 48 to 57 are digits, 58 is a
# colon, 91 and 93 are brackets, 95 is an underscore, 123 and 125 are braces.

#: An additional column: 1 if the row lacks something (a node, an error, an unusual value).
EXTRA: Final = 12
WIDTH: Final = 13
#: Stands for a missing index or time.
MISSING: Final = -(1 << 62)
# More shapes: a string, from byte OLD to byte VALUE; a value that columns cannot hold; a line without an event.
TEXT, ODD, BLANK = 10, 11, 12
# Indexes into the array of hashes of known names: fields, nemesis, types.
_TYPE, _PROCESS, _F, _VALUE, _INDEX, _TIME, _KEY, _NODE, _ERROR, _NEMESIS, _TYPES, _KNOWN = *range(11), 14
NAMES: Final = ("type", "process", "f", "value", "index", "time", "key", "node", "error", "nemesis", *TYPES)
_NEEDED: Final = 0b1111
#: A log's process has at most 18 digits.
_MAX_PROCESS: Final = 10**18


@compiled_part
def _skip(data, place, end):  # type: ignore[no-untyped-def]
    """Return the place of the next byte that is neither a blank nor a comma."""
    while place < end and (data[place] == 32 or data[place] == 44 or data[place] == 9 or data[place] == 13):
        place += 1
    return place


@compiled_part
def _word_end(data, place, end):  # type: ignore[no-untyped-def]
    """Return the end of the letters, digits, hyphens and underscores that start here; ``place`` if there are none."""
    while place < end:
        byte = data[place]
        letter = 97 <= byte <= 122 or 65 <= byte <= 90
        if not (letter or 48 <= byte <= 57 or byte == 45 or byte == 95):
            break
        place += 1
    return place


@compiled_part
def _is_nil(data, place, end):  # type: ignore[no-untyped-def]
    if place + 3 > end or data[place] != 110 or data[place + 1] != 105 or data[place + 2] != 108:
        return False
    return _word_end(data, place + 3, end) == place + 3


@compiled_part
def _is_type(hashed, names):  # type: ignore[no-untyped-def]
    for place in range(_TYPES, _KNOWN):  # noqa: SIM110 (numba compiles no generators)
        if names[place] == hashed:
            return True
    return False


@compiled_part
def _number(data, place, end):  # type: ignore[no-untyped-def]
    """Parse an integer before a blank, a comma or a closing bracket: return (number, its end or -1)."""
    if place >= end:
        return 0, -1
    number, place = integer_at(data, place, end)
    if place < 0 or place >= end:
        return number, place
    byte = data[place]
    ends = byte == 32 or byte == 44 or byte == 9 or byte == 13 or byte == 93 or byte == 125
    return number, (place if ends else -1)


@compiled_part
def _value_at(data, place, end, row):  # type: ignore[no-untyped-def]
    """Parse nil, an integer, a pair of these or a plain string into the row; return its end or -1."""
    if place >= end:
        return -1
    if _is_nil(data, place, end):
        row[SHAPE] = NULL
        return place + 3
    if data[place] == 34:
        stop = string_end(data, place, end)
        row[SHAPE], row[OLD], row[VALUE] = TEXT, place + 1, stop
        return stop + 1 if stop >= 0 else -1
    if data[place] != 91:
        row[VALUE], place = _number(data, place, end)
        row[SHAPE] = INTEGER
        return place
    place += 1
    for column in (OLD, VALUE):
        place = _skip(data, place, end)
        if _is_nil(data, place, end):
            place += 3
        else:
            row[column], place = _number(data, place, end)
            if place < 0:
                return -1
    place = _skip(data, place, end)
    row[SHAPE] = PAIR
    return place + 1 if place < end and data[place] == 93 else -1


@compiled_part
def _clear(row, start, end):  # type: ignore[no-untyped-def]
    row[:] = 0
    row[START], row[END] = start, end
    row[VALUE], row[OLD], row[KEY] = ABSENT, ABSENT, -1
    row[INDEX], row[TIME] = MISSING, MISSING


@step
def _keyword_field(data, place, end, which, row, names):  # type: ignore[no-untyped-def]
    """Store a keyword in the row; return its end, or -1 if the field cannot hold this keyword."""
    stop = _word_end(data, place + 1, end)
    hashed = name_hash(data, place + 1, stop)
    if stop == place + 1:
        return -1
    if which == _TYPE and _is_type(hashed, names):
        row[TYPE] = hashed
    elif which == _F:
        row[F] = hashed
    elif which == _PROCESS and hashed == names[_NEMESIS]:
        row[PROCESS] = NEMESIS
    elif which in (_NODE, _ERROR):
        row[EXTRA] = 1
    else:
        return -1
    return stop


@step
def _string_field(data, place, end, which, row):  # type: ignore[no-untyped-def]
    """Store a string in the row; return its end, or -1 if the field cannot hold strings."""
    stop = string_end(data, place, end)
    if stop < 0:
        return -1
    if which == _KEY:
        row[KEY] = name_hash(data, place + 1, stop)
    elif which in (_NODE, _ERROR):
        row[EXTRA] = 1
    else:
        return -1
    return stop + 1


@step
def _field(data, place, end, which, row, names):  # type: ignore[no-untyped-def]
    """Store the value of a field in the row; return its end or -1."""
    if which == _VALUE:
        place = _value_at(data, place, end, row)
    elif which == _INDEX:
        row[INDEX], place = _number(data, place, end)
    elif which == _TIME:
        row[TIME], place = _number(data, place, end)
    elif data[place] == 58:
        place = _keyword_field(data, place, end, which, row, names)
    elif data[place] == 34:
        place = _string_field(data, place, end, which, row)
    elif which == _PROCESS:
        row[PROCESS], place = _number(data, place, end)
    elif which == _KEY:
        start = place
        _, place = _number(data, start, end)
        if place >= 0:
            row[KEY] = name_hash(data, start, place) | NUMBERED
    else:
        place = -1
    return place


@compiled_part
def _map(data, start, end, row, names):  # type: ignore[no-untyped-def]
    """Parse a line that is one map into the row; return False if the scanner does not know the line."""
    _clear(row, start, end)
    place = _skip(data, start, end)
    if place == end:
        row[SHAPE] = BLANK
        return True
    if data[place] != 123:
        return False
    place = _skip(data, place + 1, end)
    present = 0
    while place < end and data[place] != 125:
        if data[place] != 58:
            return False
        stop = _word_end(data, place + 1, end)
        hashed = name_hash(data, place + 1, stop)
        which = 0
        while which <= _ERROR and names[which] != hashed:
            which += 1
        place = _skip(data, stop, end)
        if which > _ERROR or present >> which & 1 or place == stop or place >= end:
            return False
        present |= 1 << which
        place = _field(data, place, end, which, row, names)
        if place < 0 or place >= end or (data[place] != 125 and _skip(data, place, end) == place):
            return False
        place = _skip(data, place, end)
    return place < end and present & _NEEDED == _NEEDED and _skip(data, place + 1, end) == end


@compiled_part
def _after_name(data, start, end):  # type: ignore[no-untyped-def]
    """Return the place after the first ``jepsen.util`` or ``jepsen.print``; -1 if there is none."""
    last = end - 11
    place = start
    while place <= last:
        if (
            data[place] == 106 and data[place + 1] == 101 and data[place + 2] == 112 and data[place + 3] == 115
            and data[place + 4] == 101 and data[place + 5] == 110 and data[place + 6] == 46
        ):  # fmt: skip
            if data[place + 7] == 117 and data[place + 8] == 116 and data[place + 9] == 105 and data[place + 10] == 108:
                return place + 11
            if (
                data[place + 7] == 112 and data[place + 8] == 114 and data[place + 9] == 105 and data[place + 10] == 110
                and place + 11 < end and data[place + 11] == 116
            ):  # fmt: skip
                return place + 12
        place += 1
    return -1


@step
def _process(data, place, end, row, names):  # type: ignore[no-untyped-def]
    """Store a log line's process in the row; return its end or -1."""
    if data[place] == 58:
        stop = _word_end(data, place + 1, end)
        row[PROCESS] = NEMESIS
        return stop if name_hash(data, place + 1, stop) == names[_NEMESIS] else -1
    row[PROCESS], place = _number(data, place, end)
    return place if 0 <= row[PROCESS] < _MAX_PROCESS else -1


@step
def _log_start(data, start, end):  # type: ignore[no-untyped-def]
    """Return where the process begins; ``end`` if the line has no event, -1 if the scanner does not know it."""
    for place in range(start, end):
        if data[place] > 127:
            return -1
    place = _after_name(data, start, end)
    if place < 0:
        # An event without the logger's name begins with the process; any other such line is not an event.
        bare = start < end and (48 <= data[start] <= 57 or data[start] == 58)
        return start if bare else end
    colon = place < end and data[place] == 58
    stop = blanks(data, place + colon, end)
    if stop == place:
        return -1
    if not colon and stop < end and data[stop] == 45:
        stop = blanks(data, stop + 1, end)
    return stop if stop < end else -1


@compiled_part
def _log_line(data, start, end, row, names):  # type: ignore[no-untyped-def]
    """Parse one line of a log into the row; return False if the scanner does not know the line."""
    _clear(row, start, end)
    place = _log_start(data, start, end)
    if place == end:
        row[SHAPE] = BLANK
        return True
    if place >= 0:
        place = _process(data, place, end, row, names)
    if place < 0:
        return False
    for column in (TYPE, F):
        stop = blanks(data, place, end)
        if stop == place or stop >= end or data[stop] != 58:
            return False
        place = _word_end(data, stop + 1, end)
        if place == stop + 1:
            return False
        row[column] = name_hash(data, stop + 1, place)
    if not _is_type(row[TYPE], names):
        return False
    stop = blanks(data, place, end)
    if stop == end:
        row[SHAPE] = NULL
        return True
    if stop == place:
        return False
    place = _value_at(data, stop, end, row)
    # A string may be an error instead of a value, so Python must read the line.
    return place >= 0 and row[SHAPE] != TEXT and blanks(data, place, end) == end


@compiled
def scan_texts(data, start, columns, names, is_log):  # type: ignore[no-untyped-def]
    """Parse one line from ``start`` on into each row; the last line needs no newline.

    ``columns`` and ``data`` are as in ``jsonl_kernel.scan``; ``names`` are the hashes of NAMES.
    """
    place, rows = start, columns.T
    for number in range(rows.shape[0]):
        end = place
        while end < data.size and data[end] != 10:
            end += 1
        row = rows[number]
        known = _log_line(data, place, end, row, names) if is_log else _map(data, place, end, row, names)
        if not known:
            row[SHAPE] = STRANGE
            row[START], row[END] = place, end
        place = end + 1
