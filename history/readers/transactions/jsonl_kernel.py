"""The compiled scanner of transactions in ``history.jsonl``: first the lines, then the steps of each transaction.

It knows the JSON that our own writer emits, with fields in any order and blanks between them.  It stops at anything
else, and the caller uses the row-wise reader.

Functions return -1 in place of the position after a value if the value is not one that they know.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from history.codes import ABSENT, READ, WRITE
from history.compiled import compiled, compiled_apart, compiled_part
from history.readers.jsonl_kernel import blanks, integer_at, is_null, name_hash, string_end

# Bytes are compared by their codes: 34 is a quotation mark, 44 a comma, 58 a colon, 91 and 93 are brackets, 92 is a
# backslash, 123 and 125 are braces.

# Indexes into the array of hashes of known names: fields, types, and steps.
F_INDEX, F_TIME, F_TYPE, F_PROCESS, F_F, F_VALUE, F_KEY = range(7)
T_INVOKE: Final = 7
TXN_NAME, NEMESIS_NAME = 11, 12
S_READ: Final = 13
NAMES: Final = (
    "index", "time", "type", "process", "f", "value", "key", "invoke", "ok", "fail", "info", "txn", "nemesis", "r",
    "read",
)  # fmt: skip
_NEEDED: Final = (1 << F_KEY) - 1
# Columns of a row have the numbers of the fields.  There are two more: the end of the value, and a process's name.
INDEX, TIME, TYPE, PROCESS, F, VALUE, VALUE_END = range(7)
PROCESS_NAME: Final = 7
#: The type of an event that does not belong to a client.
OTHER: Final = -1
#: Histories with larger keys are read row by row.
_LARGEST_KEY: Final = 1 << 60
# What reads return: lists, or single values.
LISTS, VALUES = 0, 1


@compiled_part
def _value_end(data, place, end):  # type: ignore[no-untyped-def]
    """Return the end of any JSON value that starts here, or -1."""
    depth = 0
    while place < end:
        byte = data[place]
        if byte == 34:
            place += 1
            while place < end and data[place] != 34:
                place += 2 if data[place] == 92 else 1
            if place >= end:
                return -1
        elif byte == 91 or byte == 123:
            depth += 1
        elif byte == 93 or byte == 125 or byte == 44:
            if depth == 0:
                return place
            if byte != 44:
                depth -= 1
                if depth == 0:
                    return place + 1
        place += 1
    return -1


@compiled_part
def _string(data, place, end, names):  # type: ignore[no-untyped-def]
    """Return (index of this string in ``names`` or -1, the end of the string or -1 if there is none)."""
    if place >= end or data[place] != 34:
        return -1, -1
    stop = string_end(data, place, end)
    if stop < 0:
        return -1, -1
    wanted = name_hash(data, place + 1, stop)
    which = 0
    while which < names.size and names[which] != wanted:
        which += 1
    return (which if which < names.size else -1), stop + 1


@compiled_part
def _field(data, place, end, which, row, names):  # type: ignore[no-untyped-def]
    """Store the value of a field in the row (see ``scan_lines``); return its end or -1."""
    if which == F_VALUE:
        row[VALUE] = place
        row[VALUE_END] = _value_end(data, place, end)
        return row[VALUE_END]
    if which in (F_INDEX, F_TIME):
        row[which], place = integer_at(data, place, end)
        return place
    if which == F_KEY:
        return place + 4 if is_null(data, place, end) else -1
    if which == F_PROCESS and data[place] != 34:
        row[PROCESS], place = integer_at(data, place, end)
        return place
    name, place = _string(data, place, end, names)
    if which == F_TYPE:
        row[TYPE] = name - T_INVOKE
        return place if T_INVOKE <= name < TXN_NAME else -1
    row[F if which == F_F else PROCESS_NAME] = name
    return place if which == F_F or name == NEMESIS_NAME else -1


@compiled_part
def _line(data, start, end, row, names):  # type: ignore[no-untyped-def]
    """Parse one event into the row; return whether it is plain."""
    present = 0
    while end > start and (data[end - 1] == 32 or data[end - 1] == 13):
        end -= 1
    if end - start < 2 or data[start] != 123 or data[end - 1] != 125:
        return False
    row[PROCESS_NAME], row[F] = 0, 0
    more = True
    place = blanks(data, start + 1, end)
    while more:
        which, place = _string(data, place, end, names)
        place = blanks(data, place, end)
        if place < 0 or data[place] != 58:
            return False
        place = blanks(data, place + 1, end)
        if 0 <= which <= F_KEY:
            if present >> which & 1:
                return False
            present |= 1 << which
            place = _field(data, place, end, which, row, names)
        else:
            place = _value_end(data, place, end)
        if place < 0:
            return False
        place = blanks(data, place, end)
        more = data[place] == 44
        if more:
            place = blanks(data, place + 1, end)
    if place != end - 1 or present & _NEEDED != _NEEDED:
        return False
    if row[PROCESS_NAME] == NEMESIS_NAME:
        row[TYPE] = OTHER
        return True
    return row[F] == TXN_NAME


@compiled_apart
def scan_lines(data, start, first, lines, names):  # type: ignore[no-untyped-def]
    """Parse whole lines up to one that is not plain or whose index is wrong; ``first`` is the first one's index.

    They start with the line of the byte ``start``.  Returns (types, processes, starts of values, ends of values, times,
    number of lines parsed).
    """
    kind, process = np.empty(lines, np.int8), np.empty(lines, np.int64)
    begin, stop, time = np.empty(lines, np.int64), np.empty(lines, np.int64), np.empty(lines, np.int64)
    row = np.zeros(8, np.int64)
    place = start
    while data[place - 1] != 10:
        place -= 1
    for line in range(lines):
        end = place
        while data[end] != 10:
            end += 1
        if not _line(data, place, end, row, names) or row[INDEX] != first + line:
            return kind, process, begin, stop, time, line
        kind[line], process[line], time[line] = row[TYPE], row[PROCESS], row[TIME]
        begin[line], stop[line] = row[VALUE], row[VALUE_END]
        place = end + 1
    return kind, process, begin, stop, time, lines


@compiled
def pair_lines(kind, process, processes):  # type: ignore[no-untyped-def]
    """Pair events; return (line of each invocation, line of its completion or -1, whether all events pair)."""
    begun = np.empty(kind.size, np.int64)
    ended = np.full(kind.size, -1, np.int64)
    opened = np.full(processes, -1, np.int64)
    count = 0
    for line in range(kind.size):
        if kind[line] == OTHER:
            continue
        number = process[line]
        if kind[line] == 0:
            if opened[number] >= 0:
                return begun, ended, False
            opened[number] = count
            begun[count] = line
            count += 1
        elif opened[number] < 0:
            return begun, ended, False
        else:
            ended[opened[number]] = line
            opened[number] = -1
    return begun[:count], ended[:count], True


@compiled_part
def _key_at(data, place, end):  # type: ignore[no-untyped-def]
    """Parse a key; return (its number, which is even for an integer and odd for a string; its end or -1)."""
    if data[place] == 34:
        stop = string_end(data, place, end)
        if stop < 0:
            return np.int64(0), -1
        return 2 * (name_hash(data, place + 1, stop) >> 1) + 1, stop + 1
    number, place = integer_at(data, place, end)
    if number > _LARGEST_KEY or number < -_LARGEST_KEY:
        return np.int64(0), -1
    return 2 * np.int64(number), place


@compiled_part
def _items(data, place, end, elements, used):  # type: ignore[no-untyped-def]
    """Parse a list of integers into ``elements``; return (its end or -1, new number of elements)."""
    place = blanks(data, place + 1, end)
    if data[place] == 93:
        return place + 1, used
    while True:
        elements[used], place = integer_at(data, place, end)
        used += 1
        if place < 0:
            return -1, used
        place = blanks(data, place, end)
        if data[place] == 93:
            return place + 1, used
        if data[place] != 44:
            return -1, used
        place = blanks(data, place + 1, end)


@compiled_part
def _answer(data, place, end, holds, value, elements, used):  # type: ignore[no-untyped-def]
    """Parse the answer of a read; return (its end or -1, new number of elements)."""
    value[0] = ABSENT
    if is_null(data, place, end):
        return place + 4, used
    if holds == VALUES:
        value[0], place = integer_at(data, place, end)
        return place, used
    return _items(data, place, end, elements, used) if data[place] == 91 else (-1, used)


@compiled_part
def _head(data, place, end, names, writes, key):  # type: ignore[no-untyped-def]
    """Parse a step up to its value and store its key; return (READ or WRITE, start of the value or -1)."""
    if data[place] != 91:
        return READ, -1
    name, place = _string(data, blanks(data, place + 1, end), end, names)
    place = blanks(data, place, end)
    reads = S_READ <= name < S_READ + 2
    if place < 0 or data[place] != 44 or not (reads or (name >= S_READ + 2 and writes[name - S_READ - 2])):
        return READ, -1
    key[0], place = _key_at(data, blanks(data, place + 1, end), end)
    place = blanks(data, place, end)
    if place < 0 or data[place] != 44:
        return READ, -1
    return (READ if reads else WRITE), blanks(data, place + 1, end)


@compiled_apart
def scan_steps(data, begin, stop, known, names, writes, holds):  # type: ignore[no-untyped-def]
    """Parse the steps of transactions, given the starts and ends of their values.

    ``known`` says for each transaction whether its reads have answers.  Returns (number of steps of each transaction;
    kind, key, value, and length of the list for each step; elements; number of transactions that are plain).
    """
    size = 0
    for row in range(begin.size):
        size += stop[row] - begin[row]
    # A step has at least nine bytes, and an element at least two.  Memory that is never written to costs nothing.
    most = size // 9 + 2
    counts = np.empty(begin.size, np.int64)
    kind, key, value = np.empty(most, np.int8), np.empty(most, np.int64), np.empty(most, np.int64)
    length = np.empty(most, np.int32)
    elements = np.empty(size // 2 + 2, np.int64)
    steps, used, plain = 0, 0, 0
    while plain < begin.size:
        place, end, first = begin[plain], stop[plain], steps
        more = data[place] == 91
        place = blanks(data, place + 1, end) if more else -1
        if more and data[place] == 93:
            more = False
        while more:
            kind[steps], place = _head(data, place, end, names, writes, key[steps:])
            before = used
            if place < 0:
                break
            if kind[steps] == WRITE:
                value[steps], place = integer_at(data, place, end)
            elif known[plain]:
                place, used = _answer(data, place, end, holds, value[steps:], elements, used)
            else:
                value[steps], place = ABSENT, _value_end(data, place, end)
            length[steps] = used - before
            steps += 1
            place = blanks(data, place, end)
            if place < 0 or data[place] != 93:
                place = -1
                break
            place = blanks(data, place + 1, end)
            more = data[place] == 44
            if more:
                place = blanks(data, place + 1, end)
        if place < 0 or data[place] != 93:
            break
        counts[plain] = steps - first
        plain += 1
    return counts, kind[:steps], key[:steps], value[:steps], length[:steps], elements[:used], plain
