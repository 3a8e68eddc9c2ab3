"""The compiled scanner of ``history.jsonl``: recursive descent in one pass over the bytes, one row for each event.

It knows the JSON that our own writer emits, with fields in any order and blanks between them.  It marks a line that
contains anything else (an escape in a key, a fraction, a nested value), and the caller reads that line with the JSON
library.  Names are compared by their FNV-1a hashes.

Rows of ``WIDTH`` columns hold what checking a register needs; rows of ``WHOLE`` columns hold a whole event.

Functions return -1 in place of the position after a value if the value is not one that they know.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from history.codes import ABSENT
from history.compiled import compiled, compiled_apart, compiled_part, step

# Bytes are compared by their codes: 34 is a quotation mark, 44 a comma, 45 a minus sign, 46 a dot, 48 to 57 are digits,
# 58 is a colon, 91 and 93 are brackets, 92 is a backslash, 123 and 125 are braces.

# Columns of a row.
INDEX, TIME, TYPE, PROCESS, F, KEY, VALUE, OLD, SHAPE, START, END, SEEN = range(12)
WIDTH: Final = 12
# More columns: hashes of node and error, the phase's index in PHASES (-1: none), and the start and end of the value's
# text.  TEXT is -1 if our own writer would format that text differently; INTENDED is ABSENT if there is no such time.
NODE, ERROR, PHASE, TEXT, TEXT_END, INTENDED = range(WIDTH, 18)
WHOLE: Final = 18
# The shape of a value; OTHER is a string or a boolean.
NULL, INTEGER, PAIR, TRIPLE, OTHER = range(5)
#: Bit that marks the hash of a key that is not a string.
NUMBERED: Final = 1 << 61
#: SHAPE of a line that the scanner does not know.
STRANGE: Final = 99
#: PROCESS of a nemesis event.
NEMESIS: Final = -(1 << 62)
# Indexes into the array of hashes of known names: fields, then phases, then types.
F_INDEX, F_TIME, F_TYPE, F_PROCESS, F_F, F_KEY, F_VALUE, F_NODE, F_ERROR, F_INTENDED, F_PHASE = range(11)
PHASE_1, PHASE_2, PHASE_3 = range(11, 14)
NAMES: Final = ("index", "time", "type", "process", "f", "key", "value", "node", "error", "intended", "phase")
#: An event has index, time, type, process, function, and value.
_NEEDED: Final = 1 << F_INDEX | 1 << F_TIME | 1 << F_TYPE | 1 << F_PROCESS | 1 << F_F | 1 << F_VALUE
#: A number of this size may overflow 64 bits with one more digit.
_LIMIT: Final = 922337203685477579


@compiled_part
def name_hash(data, start, end):  # type: ignore[no-untyped-def]
    h = np.uint64(14695981039346656037)
    for place in range(start, end):
        h = (h ^ np.uint64(data[place])) * np.uint64(1099511628211)
    # 61 bits, so that bit 61 is free for NUMBERED and no hash is negative.
    return np.int64(h & np.uint64(0x1FFFFFFFFFFFFFFF))


@compiled_part
def integer_at(data, place, end):  # type: ignore[no-untyped-def]
    """Parse an integer: return (number, its end), with the end -1 if there is no integer or it does not fit."""
    negative = data[place] == 45
    if negative:
        place += 1
    start, number = place, 0
    while place < end and 48 <= data[place] <= 57:
        if number >= _LIMIT:
            return 0, -1
        number = number * 10 + (data[place] - 48)
        place += 1
    if place == start or (data[start] == 48 and (negative or place > start + 1)):
        return 0, -1
    if place < end and (data[place] == 46 or data[place] == 101 or data[place] == 69):
        return 0, -1
    return (-number if negative else number), place


@compiled_part
def blanks(data, place, end):  # type: ignore[no-untyped-def]
    """Return the position of the next byte that is not a blank."""
    while place < end and (data[place] == 32 or data[place] == 9 or data[place] == 13):
        place += 1
    return place


@compiled_part
def string_end(data, place, end):  # type: ignore[no-untyped-def]
    """Return the closing quote of the string that opens at ``place``; -1 if it has an escape, non-ASCII or no end."""
    place += 1
    while place < end and data[place] != 34:
        if data[place] == 92 or data[place] < 32 or data[place] > 127:
            return -1
        place += 1
    return place if place < end else -1


@compiled_part
def is_null(data, place, end):  # type: ignore[no-untyped-def]
    return (
        place + 4 <= end
        and data[place] == 110
        and data[place + 1] == 117
        and data[place + 2] == 108
        and data[place + 3] == 108
    )


@compiled_part
def _boolean_end(data, place, end):  # type: ignore[no-untyped-def]
    """Return the end of true or false; -1 for anything else."""
    if place + 4 <= end and data[place + 1] == 114 and data[place + 2] == 117 and data[place + 3] == 101:
        return place + 4 if data[place] == 116 else -1
    if place + 5 <= end and data[place + 1] == 97 and data[place + 2] == 108 and data[place + 3] == 115:
        return place + 5 if data[place] == 102 and data[place + 4] == 101 else -1
    return -1


@compiled_part
def _value(data, place, end, row):  # type: ignore[no-untyped-def]
    """Parse null, an integer, or a list of two or three of these into the row; return its end or -1."""
    if is_null(data, place, end):
        row[VALUE], row[SHAPE] = ABSENT, NULL
        return place + 4
    if data[place] == 34:
        row[SHAPE] = OTHER
        stop = string_end(data, place, end)
        return stop + 1 if stop >= 0 else -1
    if data[place] == 116 or data[place] == 102:
        row[SHAPE] = OTHER
        return _boolean_end(data, place, end)
    if data[place] != 91:
        row[VALUE], place = integer_at(data, place, end)
        row[SHAPE] = INTEGER
        return place
    return _list(data, place, end, row)


@compiled_part
def _list(data, place, end, row):  # type: ignore[no-untyped-def]
    """Parse a list of two or three integers or nulls into the row; return its end or -1."""
    place = blanks(data, place + 1, end)
    for column in (OLD, VALUE, SEEN):
        if is_null(data, place, end):
            row[column] = ABSENT
            place += 4
        else:
            row[column], place = integer_at(data, place, end)
            if place < 0:
                return -1
        place = blanks(data, place, end)
        if place >= end:
            return -1
        if data[place] == 93 and column != OLD:
            row[SHAPE] = PAIR if column == VALUE else TRIPLE
            return place + 1
        if data[place] != 44:
            return -1
        place = blanks(data, place + 1, end)
    return -1


@step
def _field_name(data, place, end, names):  # type: ignore[no-untyped-def]
    """Return (number of the field whose name starts here, start of its value); the number is -1 if unknown."""
    if data[place] != 34:
        return -1, place
    stop = string_end(data, place, end)
    if stop < 0:
        return -1, place
    name = name_hash(data, place + 1, stop)
    # The line's last byte is a closing brace, so there is always a next byte.
    place = blanks(data, stop + 1, end)
    if data[place] != 58:
        return -1, place
    which = 0
    while which <= F_PHASE and names[which] != name:
        which += 1
    return (which if which <= F_PHASE else -1), blanks(data, place + 1, end)


@step
def _is_among(name, names, first, end):  # type: ignore[no-untyped-def]
    """Return whether the hash is one of ``names[first:end]``."""
    place = first
    while place < end and names[place] != name:
        place += 1
    return place < end


@step
def _keep_name(name, which, row, names):  # type: ignore[no-untyped-def]
    """Store a phase, node or error in a row of ``WHOLE`` columns."""
    if which == F_PHASE:
        row[PHASE] = 0
        while names[PHASE_1 + row[PHASE]] != name:
            row[PHASE] += 1
    elif which == F_NODE:
        row[NODE] = name
    elif which == F_ERROR:
        row[ERROR] = name


@step
def _string_field(data, place, end, which, row, names):  # type: ignore[no-untyped-def]
    """Store a string field in the row; return its end, or -1 if the field cannot hold this string."""
    stop = string_end(data, place, end)
    if stop < 0:
        return -1
    name = name_hash(data, place + 1, stop)
    if which == F_TYPE:
        if not _is_among(name, names, PHASE_3 + 1, names.size):
            return -1
        row[TYPE] = name
    elif which == F_F:
        row[F] = name
    elif which == F_KEY:
        row[KEY] = name
    elif which == F_PHASE:
        if not _is_among(name, names, PHASE_1, PHASE_3 + 1):
            return -1
    elif which != F_NODE and which != F_ERROR:
        return -1
    if row.size == WHOLE:
        _keep_name(name, which, row, names)
    return stop + 1


@step
def _keep_text(data, start, end, row):  # type: ignore[no-untyped-def]
    """Store the start and end of the value's text in the row; the start is -1 if a list has blanks between items."""
    row[TEXT], row[TEXT_END] = start, end
    if data[start] == 91:
        for place in range(start, end):
            if data[place] <= 32:
                row[TEXT] = -1


@step
def _intended(data, place, end, row):  # type: ignore[no-untyped-def]
    number, place = integer_at(data, place, end)
    if row.size == WHOLE:
        row[INTENDED] = number
    return place


@step
def _field(data, place, end, which, row, names):  # type: ignore[no-untyped-def]
    """Store the value of a field in the row; return its end or -1."""
    if which == F_INDEX:
        row[INDEX], place = integer_at(data, place, end)
    elif which == F_TIME:
        row[TIME], place = integer_at(data, place, end)
    elif which == F_PROCESS:
        row[PROCESS], place = integer_at(data, place, end)
    elif which == F_INTENDED:
        place = _intended(data, place, end, row)
    elif which == F_VALUE:
        start = place
        place = _value(data, start, end, row)
        if place >= 0 and row.size == WHOLE:
            _keep_text(data, start, place, row)
    elif data[place] == 34:
        place = _string_field(data, place, end, which, row, names)
    elif which == F_KEY:
        start = place
        _, place = integer_at(data, start, end)
        if place >= 0:
            row[KEY] = name_hash(data, start, place) | NUMBERED
    else:
        place = -1
    return place


@compiled_part
def _line(data, start, end, row, names):  # type: ignore[no-untyped-def]
    """Parse one event into the row; return False if the scanner does not know the line."""
    row[:] = 0
    row[START], row[END] = start, end
    row[VALUE], row[OLD], row[KEY] = ABSENT, ABSENT, -1
    if row.size == WHOLE:
        row[NODE], row[ERROR], row[PHASE], row[INTENDED] = -1, -1, -1, ABSENT
    present = 0
    while end > start and (data[end - 1] == 32 or data[end - 1] == 9 or data[end - 1] == 13):
        end -= 1
    if end - start < 2 or data[start] != 123 or data[end - 1] != 125:
        return False
    place = blanks(data, start + 1, end)
    while place < end:
        which, place = _field_name(data, place, end, names)
        if which < 0 or present >> which & 1:
            return False
        present |= 1 << which
        place = _field(data, place, end, which, row, names)
        if place < 0:
            return False
        place = blanks(data, place, end)
        if place >= end:
            return False
        if data[place] == 125:
            return place == end - 1 and present & _NEEDED == _NEEDED
        if data[place] != 44:
            return False
        place = blanks(data, place + 1, end)
    return False


@compiled_apart
def count_lines(data, start):  # type: ignore[no-untyped-def]
    """Count the whole lines from ``start`` on."""
    count = 0
    for place in range(start, data.size):
        if data[place] == 10:
            count += 1
    return count


@compiled
def scan(data, start, columns, names):  # type: ignore[no-untyped-def]
    """Parse whole lines from ``start`` on into rows until these are full; return (rows used, next byte).

    ``columns`` are the rows transposed, stored column by column even for a single row.  ``data`` must be ``read_only``.
    Any other layout, and writable data, would be compiled separately, which takes seconds.  ``names`` are the hashes of
    NAMES.
    """
    count, place, rows = 0, start, columns.T
    while count < rows.shape[0]:
        end = place
        while end < data.size and data[end] != 10:
            end += 1
        if end >= data.size:
            break
        if not _line(data, place, end, rows[count], names):
            rows[count, SHAPE] = STRANGE
            rows[count, START], rows[count, END] = place, end
        count += 1
        place = end + 1
    return count, place


@compiled
def hash_name(data):  # type: ignore[no-untyped-def]
    """Return the hash that ``scan`` uses for a name."""
    return name_hash(data, 0, data.size)


@compiled
def number(hashes):  # type: ignore[no-untyped-def]
    """Number hashes from 0 in order of first appearance, and a hash of -1 as -1.

    Returns (number of each hash, row where each number first appears).
    """
    # A hash table with open addressing, which grows fourfold when it is half full.  It holds the numbers, and ``first``
    # leads from a number to its hash.
    size, count = 1024, 0
    table = np.full(size, -1, np.int64)
    codes = np.empty(hashes.size, np.int32)
    first = np.empty(512, np.int64)
    for row in range(hashes.size):
        wanted = hashes[row]
        if wanted == -1:
            codes[row] = -1
            continue
        place = (wanted ^ (wanted >> 29)) & (size - 1)
        while table[place] >= 0 and hashes[first[table[place]]] != wanted:
            place = (place + 1) & (size - 1)
        if table[place] < 0:
            if 2 * count >= size:
                size *= 4
                table = np.full(size, -1, np.int64)
                larger = np.empty(size // 2 + 1, np.int64)
                larger[:count] = first[:count]
                first = larger
                for known in range(count):
                    place = (hashes[first[known]] ^ (hashes[first[known]] >> 29)) & (size - 1)
                    while table[place] >= 0:
                        place = (place + 1) & (size - 1)
                    table[place] = known
                place = (wanted ^ (wanted >> 29)) & (size - 1)
                while table[place] >= 0:
                    place = (place + 1) & (size - 1)
            table[place], first[count] = count, row
            count += 1
        codes[row] = table[place]
    return codes, first[:count]


@compiled
def gather(data, start, end):  # type: ignore[no-untyped-def]
    """Concatenate the bytes from each ``start`` to its ``end``.

    Returns (offsets of the pieces as int32, with a final one; bytes), as Arrow strings need them.
    """
    offsets = np.empty(start.size + 1, np.int32)
    offsets[0] = 0
    for row in range(start.size):
        offsets[row + 1] = offsets[row] + (end[row] - start[row])
    texts = np.empty(offsets[-1], np.uint8)
    for row in range(start.size):
        to = offsets[row]
        for place in range(start[row], end[row]):
            texts[to] = data[place]
            to += 1
    return offsets, texts
