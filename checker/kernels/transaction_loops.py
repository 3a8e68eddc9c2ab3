"""Loops of the transactional checker in plain Python, which are compiled only for many steps.

No loop calls another, so that each runs both ways (``checker.kernels.transactions`` compiles them).  Node ``v`` of a
graph is the transaction in row ``v``; nodes from ``n`` on are helpers, which stand for no transaction.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, Final, TypeAlias

import numpy as np

from history.codes import NEVER, OK, READ, WRITE

Array: TypeAlias = Any

# Kinds of edges.  CONT leads out of a helper, and a path through helpers counts as the edge that it began with.  The
# last three count only at and above a level: read committed, the session levels, the strict levels.
WW: Final = 0
WR: Final = 1
RW: Final = 2
PROCESS: Final = 3
REALTIME: Final = 4
CONT: Final = 5
CONT_COMMITTED: Final = 6
CONT_PROCESS: Final = 7
CONT_REALTIME: Final = 8
#: The distance of a node that a search has not reached.
FAR: Final = 2147483647

_EMPTY: Final = -1
_SPREAD: Final = 0x9E3779B1
_MIX: Final = 0x85EBCA6B


def index_writes(kind: Array, key: Array, value: Array) -> Any:
    """Make a hash table of the writing steps by key and value.

    Returns (the table, and two steps that write the same; -1, -1 if there are none).
    """
    writes = 0
    for step in range(kind.size):
        if kind[step] == WRITE:
            writes += 1
    size = 16
    while size < 2 * writes:
        size *= 2
    table = np.full(size, _EMPTY, np.int32)
    for step in range(kind.size):
        if kind[step] != WRITE:
            continue
        mixed = (int(key[step]) * _SPREAD + int(value[step])) * _MIX
        at = (mixed ^ (mixed >> 15)) & (size - 1)
        while table[at] >= 0:
            other = table[at]
            if key[other] == key[step] and value[other] == value[step]:
                return table, int(other), step
            at = (at + 1) & (size - 1)
        table[at] = step
    return table, -1, -1


def find_writes(table: Array, key: Array, value: Array, wanted_key: Array, wanted_value: Array) -> Any:
    """Return the step that writes each wanted value to its key; -1 if no step does."""
    steps = np.empty(wanted_key.size, np.int32)
    mask = table.size - 1
    for row in range(wanted_key.size):
        mixed = (int(wanted_key[row]) * _SPREAD + int(wanted_value[row])) * _MIX
        at = (mixed ^ (mixed >> 15)) & mask
        while table[at] >= 0 and (key[table[at]] != wanted_key[row] or value[table[at]] != wanted_value[row]):
            at = (at + 1) & mask
        steps[row] = table[at]
    return steps


def link_steps(first: Array, key: Array, keys: int) -> Any:
    """Return for each step the one before it on the same key in the same transaction; -1 for the first."""
    previous = np.full(key.size, -1, np.int32)
    latest = np.full(keys, -1, np.int32)
    for row in range(first.size - 1):
        start = first[row]
        for step in range(start, first[row + 1]):
            if latest[key[step]] >= start:
                previous[step] = latest[key[step]]
            latest[key[step]] = step
    return previous


def external_reads(
    first: Array, outcome: Array, kind: Array, key: Array, value: Array, begin: Array, length: Array, elements: Array,
    previous: Array, keys: int,
) -> Any:  # fmt: skip
    """Find the external part of each read of an ok transaction: the list without its own appends at the end.

    A read of a transaction's own appends proves no installed version: a store that buffers writes shows T1 [1] and
    T2 [2], and then installs [1, 2].

    Returns (the length of that part, -1 for anything but a read of an ok transaction; whether the step contradicts
    an earlier step of its transaction; for each key the step with the longest such part, -1 if the key was not
    read).
    """
    external = np.full(kind.size, -1, np.int32)
    contradicts = np.zeros(kind.size, np.bool_)
    longest = np.full(keys, -1, np.int32)
    for row in range(first.size - 1):
        if outcome[row] != OK:
            continue
        for step in range(first[row], first[row + 1]):
            if kind[step] != READ:
                continue
            size, earlier = length[step], -1
            at = previous[step]
            while at >= 0:
                if kind[at] == READ:
                    # Appends before that read were checked when that read was stripped.
                    if earlier < 0:
                        earlier = at
                elif size > 0 and elements[begin[step] + size - 1] == value[at]:
                    size -= 1
                else:
                    contradicts[step] = True
                at = previous[at]
            external[step] = size
            if earlier >= 0 and external[earlier] != size:
                contradicts[step] = True
            best = longest[key[step]]
            if best < 0 or external[best] < size:
                longest[key[step]] = step
    return external, contradicts, longest


def prefixes(kind: Array, key: Array, begin: Array, elements: Array, external: Array, longest: Array) -> Any:
    """Return which external parts are not a prefix of the longest one of their key."""
    differs = np.zeros(kind.size, np.bool_)
    for step in range(kind.size):
        size = external[step]
        if size <= 0:
            continue
        mine, its = begin[step], begin[longest[key[step]]]
        at = 0
        while at < size and elements[mine + at] == elements[its + at]:
            at += 1
        differs[step] = at < size
    return differs


def own_order(
    first: Array, kind: Array, key: Array, previous: Array, external: Array, contradicts: Array, position: Array,
    sizes: Array,
) -> Any:  # fmt: skip
    """Compare the appends of each transaction with the order of their key.

    Returns by step: an append that does not directly follow its transaction's previous one; one that an earlier
    read of its transaction has seen; a read that saw an append of its transaction twice, at the end and before; a
    transaction's last append to a key; and its first append to a key if no read shows any of them.  ``position`` is
    a step's place in the order of its key, -1 for none; ``sizes`` are the lengths of the orders.
    """
    torn, early, twice = np.zeros(kind.size, np.bool_), np.zeros(kind.size, np.bool_), np.zeros(kind.size, np.bool_)
    final, hidden = kind == WRITE, np.zeros(kind.size, np.bool_)
    for row in range(first.size - 1):
        for step in range(first[row], first[row + 1]):
            before, begins, most = -1, step, -1
            at = previous[step]
            while at >= 0:
                if kind[at] == WRITE:
                    if before < 0:
                        before = at
                    begins = at
                    if 0 <= position[at] < external[step] and not contradicts[step]:
                        twice[step] = True
                else:
                    most = max(most, external[at])
                at = previous[at]
            if kind[step] != WRITE:
                continue
            place = position[step]
            early[step] = 0 <= place < most
            if before >= 0:
                final[before] = False
                if place >= 0:
                    torn[step] = position[before] < 0 or position[before] != place - 1
                else:
                    torn[step] = 0 <= position[before] < sizes[key[step]] - 1
            if begins == step:
                hidden[step] = place < 0
            elif place >= 0:
                hidden[begins] = False
    return torn, early, twice, final, hidden


def tail_edges(reader_start: Array, readers: Array, tail_start: Array, tail: Array, nodes: int) -> Any:
    """Make edges from each reader of a key's last version to each later writer, except to itself.

    Returns (from, to, kind, number of nodes).  If the product is large, the writers are attached to two chains of
    helpers: one for all writers up to a given one, the other for all from it on.  A reader among the writers uses both
    to avoid itself.
    """
    size = 0
    for key in range(reader_start.size - 1):
        r, w = reader_start[key + 1] - reader_start[key], tail_start[key + 1] - tail_start[key]
        size += r * w if r * w <= 4 * (r + w) else 4 * w + 2 * r
    source, target = np.empty(size, np.int32), np.empty(size, np.int32)
    kind = np.empty(size, np.int8)
    made = 0
    for key in range(reader_start.size - 1):
        low, high = tail_start[key], tail_start[key + 1]
        r, w = reader_start[key + 1] - reader_start[key], high - low
        if r == 0 or w == 0:
            continue
        direct = r * w <= 4 * (r + w)
        up_to, from_on = nodes - low, nodes + w - low
        if not direct:
            nodes += 2 * w
            for at in range(low, high):
                source[made], target[made], kind[made] = up_to + at, tail[at], CONT
                source[made + 1], target[made + 1], kind[made + 1] = from_on + at, tail[at], CONT
                made += 2
                if at > low:
                    source[made], target[made], kind[made] = up_to + at, up_to + at - 1, CONT
                    source[made + 1], target[made + 1], kind[made + 1] = from_on + at - 1, from_on + at, CONT
                    made += 2
        for place in range(reader_start[key], reader_start[key + 1]):
            reader = readers[place]
            if direct:
                for at in range(low, high):
                    if tail[at] != reader:
                        source[made], target[made], kind[made] = reader, tail[at], RW
                        made += 1
                continue
            # The writers of a key are sorted by their rows.
            left, right = low, high
            while left < right:
                middle = (left + right) // 2
                if tail[middle] < reader:
                    left = middle + 1
                else:
                    right = middle
            after = left + 1 if left < high and tail[left] == reader else left
            if left > low:
                source[made], target[made], kind[made] = reader, up_to + left - 1, RW
                made += 1
            if after < high:
                source[made], target[made], kind[made] = reader, from_on + after, RW
                made += 1
    return source[:made], target[:made], kind[:made], nodes


def register_reads(first: Array, outcome: Array, kind: Array, value: Array, previous: Array) -> Any:
    """Find what each transaction does to each register.

    Returns by step: whether it is a read of an ok transaction before that transaction writes to the key; whether it
    contradicts an earlier step of its transaction; and the first step of the transaction on the key.  Returns by
    that first step: the last write of the transaction to the key, and its first and last read before it wrote; -1
    for none.
    """
    external, contradicts = np.zeros(kind.size, np.bool_), np.zeros(kind.size, np.bool_)
    begin, wrote = np.empty(kind.size, np.int32), np.full(kind.size, -1, np.int32)
    read_first, read_last = np.full(kind.size, -1, np.int32), np.full(kind.size, -1, np.int32)
    for row in range(first.size - 1):
        for step in range(first[row], first[row + 1]):
            start = step if previous[step] < 0 else begin[previous[step]]
            begin[step] = start
            if kind[step] == WRITE:
                wrote[start] = step
            elif outcome[row] == OK:
                known = wrote[start] if wrote[start] >= 0 else read_last[start]
                contradicts[step] = known >= 0 and value[known] != value[step]
                if wrote[start] < 0:
                    external[step] = True
                    if read_first[start] < 0:
                        read_first[start] = step
                    read_last[start] = step
    return external, contradicts, begin, wrote, read_first, read_last


def realtime_versions(
    start: Array, earlier: Array, seen_at: Array, later: Array, wanted: Array, key: Array, writer: Array, first: int,
    nodes: int,
) -> Any:  # fmt: skip
    """Make edges from each version to the writers of versions that were first seen later: (from, to, nodes).

    ``earlier`` are versions by key (from ``start`` on) and by when they were first seen (``seen_at``).  ``later`` are
    versions that must come after everything seen before ``wanted``.  A chain of helpers collects all versions up to a
    given one.  A version does not come after itself, so beyond its own place only the next few versions get edges.
    """
    size = earlier.size
    source, target = np.empty(2 * size + 5 * later.size, np.int32), np.empty(2 * size + 5 * later.size, np.int32)
    place = np.full(seen_at.size, -1, np.int32)
    made = 0
    for at in range(size):
        place[earlier[at]] = at
        source[made], target[made] = first + earlier[at], nodes + at
        made += 1
        if at > start[key[earlier[at]]]:
            source[made], target[made] = nodes + at - 1, nodes + at
            made += 1
    for version in later:
        low, high = start[key[version]], start[key[version] + 1]
        begin = low
        while low < high:
            middle = (low + high) // 2
            if seen_at[earlier[middle]] < wanted[version]:
                low = middle + 1
            else:
                high = middle
        own = place[version]
        end = low if own < 0 or own >= low else own
        if end > begin:
            source[made], target[made] = nodes + end - 1, writer[version]
            made += 1
        for at in range(end + 1, min(low, end + 5)):
            source[made], target[made] = first + earlier[at], writer[version]
            made += 1
    return source[:made], target[:made], nodes + size


def session_edges(process: Array, processes: int, outcome: Array, committed: Array) -> Any:
    """Make edges from the last ok transaction of a process to its next committed one: (from, to)."""
    source, target = np.empty(process.size, np.int32), np.empty(process.size, np.int32)
    last = np.full(processes, -1, np.int32)
    made = 0
    for row in range(process.size):
        if not committed[row]:
            continue
        if last[process[row]] >= 0:
            source[made], target[made] = last[process[row]], row
            made += 1
        if outcome[row] == OK:
            last[process[row]] = row
    return source[:made], target[:made]


def realtime_edges(invoked: Array, returned: Array, by_return: Array, committed: Array, nodes: int) -> Any:
    """Make edges from each ok transaction to all committed ones invoked after it returned: (from, to, nodes).

    A chain of barriers, one for each run of returns between two invocations, needs three edges per transaction,
    whatever the concurrency.  ``by_return`` are the rows of ok transactions in the order of their returns.
    """
    size = invoked.size
    source, target = np.empty(3 * size, np.int32), np.empty(3 * size, np.int32)
    made, barrier, is_open, at = 0, -1, False, 0
    for row in range(size):
        if not committed[row]:
            continue
        # Strictly less: equal times say nothing about the order.
        while at < by_return.size and returned[by_return[at]] < invoked[row]:
            if not is_open:
                if barrier >= 0:
                    source[made], target[made] = barrier, nodes
                    made += 1
                barrier, is_open = nodes, True
                nodes += 1
            source[made], target[made] = by_return[at], barrier
            made += 1
            at += 1
        is_open = False
        if barrier >= 0:
            source[made], target[made] = barrier, row
            made += 1
    return source[:made], target[:made], nodes


def adjacency(source: Array, target: Array, kind: Array, nodes: int) -> Any:
    """Sort the edges by source; return (where those of each node begin, targets, kinds)."""
    start = np.zeros(nodes + 1, np.int32)
    for edge in range(source.size):
        start[source[edge] + 1] += 1
    for node in range(nodes):
        start[node + 1] += start[node]
    at = start[:-1].copy()
    targets, kinds = np.empty(source.size, np.int32), np.empty(source.size, np.int8)
    for edge in range(source.size):
        place = at[source[edge]]
        targets[place], kinds[place] = target[edge], kind[edge]
        at[source[edge]] = place + 1
    return start, targets, kinds


def components(start: Array, targets: Array, kinds: Array, counts: Array, group: Array, layered: bool) -> Any:
    """Number the strongly connected components with Tarjan's algorithm; -1 for a node that is alone in its component.

    Only edges whose kind ``counts`` are followed, and only between nodes of one ``group``; -1 means no group.

    ``layered``: each node becomes two, ``2 * v`` and ``2 * v + 1``.  An rw edge leads from the first of its source
    to the second of its target, an edge out of a helper stays in the layer, and all other edges lead to the first.
    So no cycle of that graph has two neighbouring rw edges.
    """
    nodes = start.size - 1
    layers = 2 if layered else 1
    size = nodes * layers
    index = np.zeros(size, np.int32)
    low = np.zeros(size, np.int32)
    component = np.full(size, -1, np.int32)
    edge = np.zeros(size, np.int32)
    stack, path = np.empty(size, np.int32), np.empty(size, np.int32)
    on_stack, on_path, count, total = 0, 0, 0, 0
    for root in range(size):
        if index[root] != 0 or group[root // layers] < 0:
            continue
        count += 1
        index[root] = low[root] = count
        edge[root] = start[root // layers]
        stack[on_stack], path[on_path] = root, root
        on_stack += 1
        on_path += 1
        while on_path > 0:
            state = path[on_path - 1]
            node = state // layers
            layer = state - node * layers
            at, end = edge[state], start[node + 1]
            descended = False
            while at < end:
                kind, target = kinds[at], targets[at]
                at += 1
                if not counts[kind] or group[target] != group[node]:
                    continue
                if layered:
                    if kind == RW:
                        if layer == 1:
                            continue
                        target = 2 * target + 1
                    else:
                        target = 2 * target + (layer if kind >= CONT else 0)
                if index[target] == 0:
                    count += 1
                    index[target] = low[target] = count
                    edge[target] = start[target // layers]
                    stack[on_stack], path[on_path] = target, target
                    on_stack += 1
                    on_path += 1
                    descended = True
                    break
                # A node that has left the stack has the largest index of all.
                low[state] = min(low[state], index[target])
            edge[state] = at
            if descended:
                continue
            on_path -= 1
            if on_path > 0:
                parent = path[on_path - 1]
                low[parent] = min(low[parent], low[state])
            if low[state] == index[state]:
                alone = stack[on_stack - 1] == state
                while True:
                    on_stack -= 1
                    member = stack[on_stack]
                    index[member] = size + 1
                    if not alone:
                        component[member] = total
                    if member == state:
                        break
                if not alone:
                    total += 1
    return component, total


def shortest_path(
    start: Array, targets: Array, kinds: Array, counts: Array, component: Array, layers: int, neighbours: bool,
    origin: int, goal: int, real: int, avoid: int, most: int,
    distance: Array, done: Array, before: Array, by: Array, queue: Array, entered: Array,
) -> Any:  # fmt: skip
    """Find the path from one node to another inside their component that passes the fewest transactions.

    Helpers (nodes from ``real`` on) cost nothing.  With two ``layers``, the nodes are those of ``components``; with
    ``neighbours``, an rw edge may also leave the second layer.  ``avoid`` is a node that the path must not pass
    (-1: none).  The last line of arguments is working memory with room for every node, and in ``queue`` for four times
    as many.  Before and after a call ``distance`` holds ``FAR`` and ``done`` False everywhere, so that a short search
    costs little in a large graph.  Returns the nodes, the kinds of the edges between them, and how many edges the
    search looked at.  Nodes and kinds are empty if every path passes more than ``most`` transactions after the first
    node.
    """
    # Breadth-first search with steps of length 0 or 1: free steps go to the front of the queue, all others to its end.
    # A node enters at most twice: at one distance, and once more by a path that is shorter by one.
    head, end = queue.size // 2, queue.size // 2
    queue[end] = origin
    end += 1
    distance[origin] = 0
    entered[0] = origin
    count, looked = 1, 0
    while head < end:
        state = queue[head]
        head += 1
        if done[state]:
            continue
        done[state] = True
        if state == goal:
            break
        node = state // layers
        layer = state - node * layers
        looked += start[node + 1] - start[node]
        for at in range(start[node], start[node + 1]):
            kind, target = kinds[at], targets[at]
            if not counts[kind]:
                continue
            cost = 0 if target >= real else 1
            if layers == 2:
                if kind == RW:
                    if layer == 1 and not neighbours:
                        continue
                    target = 2 * target + 1
                else:
                    target = 2 * target + (layer if kind >= CONT else 0)
            if target == avoid or component[target] != component[state] or done[target]:
                continue
            if distance[state] + cost >= distance[target] or distance[state] + cost > most:
                continue
            if distance[target] == FAR:
                entered[count] = target
                count += 1
            distance[target] = distance[state] + cost
            before[target], by[target] = state, kind
            if cost == 0:
                head -= 1
                queue[head] = target
            else:
                queue[end] = target
                end += 1
    steps = 0
    if done[goal]:
        steps = 1
        state = goal
        while state != origin:
            state = before[state]
            steps += 1
    nodes, edges = np.empty(steps, np.int32), np.empty(max(steps - 1, 0), np.int32)
    state = goal
    for place in range(steps - 1, -1, -1):
        nodes[place] = state // layers
        if place > 0:
            edges[place - 1] = by[state]
            state = before[state]
    for place in range(count):
        distance[entered[place]], done[entered[place]] = FAR, False
    return nodes, edges, looked


def deadlines(start: Array, targets: Array, returns: Array) -> Any:
    """Return for each node of a graph without cycles the first return of a transaction that comes after it, or its own.

    ``returns`` are those of the transactions; a helper has none.
    """
    nodes = start.size - 1
    waits = np.zeros(nodes, np.int32)
    for edge in range(targets.size):
        waits[targets[edge]] += 1
    order, end = np.empty(nodes, np.int32), 0
    for node in range(nodes):
        if waits[node] == 0:
            order[end] = node
            end += 1
    at = 0
    while at < end:
        node = order[at]
        at += 1
        for edge in range(start[node], start[node + 1]):
            waits[targets[edge]] -= 1
            if waits[targets[edge]] == 0:
                order[end] = targets[edge]
                end += 1
    latest = np.full(nodes, NEVER, np.int64)
    latest[: returns.size] = returns
    for at in range(end - 1, -1, -1):
        node = order[at]
        for edge in range(start[node], start[node + 1]):
            latest[node] = min(latest[node], latest[targets[edge]])
    return latest


def serial_order(
    start: Array, targets: Array, back: Array, origins: Array, by_rank: Array, real: int, touch: Array, key: Array,
    needs: Array, makes: Array, read_from: Array, readers: Array, writer: Array, current: Array, most: int,
) -> Any:  # fmt: skip
    """Look for an order of the transactions in which each read finds the current version.

    The nodes are taken by rank, each after those that lead to it, and a write only when no read of the version that it
    overwrites is left.  If nothing can be taken, some transaction W comes before a read of the current version and
    writes the same key, so it also comes before the writer of that version: that edge is added, and all nodes from that
    writer on are taken back.

    Edges are grouped by source (``start``, ``targets``) and by target (``back``, ``origins``).  Transaction ``t``
    touches the keys from ``touch[t]`` on: it ``needs`` a version, and ``makes`` one (-1: none).  ``read_from`` and
    ``readers`` group the transactions by the versions that they need; ``writer`` makes each version (-1: nobody).
    ``current`` are the versions at the start, one for each key.  Returns the order, which is shorter than the number of
    nodes (which includes helpers) if none was found in about ``most`` steps, and those added edges that hold in every
    order: (order, from, to).
    """
    nodes = start.size - 1
    placed, trail = np.full(nodes, -1, np.int32), np.empty(nodes, np.int32)
    rank, waits = np.empty(nodes, np.int32), back[1:] - back[:-1]
    for node in range(nodes):
        rank[by_rank[node]] = node
    unread = read_from[1:] - read_from[:-1]
    # Added edges, as linked lists from their sources and to their targets.
    room = 4 * real + 64
    added_from, added_to = np.empty(room, np.int32), np.empty(room, np.int32)
    out, into = np.full(nodes, -1, np.int32), np.full(nodes, -1, np.int32)
    next_out, next_into = np.empty(room, np.int32), np.empty(room, np.int32)
    added, sure = 0, room
    # The transactions that wait for a key's current version to be read, as linked lists.
    waiting, next_waiting = np.full(current.size, -1, np.int32), np.full(nodes, -1, np.int32)
    before = np.full(key.size, -1, np.int32)
    mark, stack, stamp = np.zeros(nodes, np.int32), np.empty(nodes, np.int32), 0
    heap = [np.int32(0) for _ in range(0)]  # Empty, and compiled code knows its type.
    for node in range(nodes):
        if waits[node] == 0:
            heappush(heap, rank[node])
    done = steps = 0
    while done < nodes and steps < most:
        if len(heap) == 0:
            known, first = added, nodes
            for register in range(current.size):
                version = current[register]
                if waiting[register] < 0 or writer[version] < 0:
                    continue
                after = writer[version]
                for place in range(read_from[version], read_from[version + 1]):
                    reader = readers[place]
                    if placed[reader] >= 0 or reader == after:
                        continue
                    # All that is left and comes before that read.
                    stamp += 1
                    stack[0], top = reader, 1
                    mark[reader] = stamp
                    while top > 0:
                        top -= 1
                        node = stack[top]
                        steps += 1
                        if node < real and node != reader and added < room:
                            for at in range(touch[node], touch[node + 1]):
                                if key[at] == register and makes[at] >= 0:
                                    added_from[added], added_to[added] = node, after
                                    added += 1
                        for edge in range(back[node], back[node + 1]):
                            origin = origins[edge]
                            if placed[origin] < 0 and mark[origin] != stamp:
                                mark[origin] = stamp
                                stack[top] = origin
                                top += 1
                        edge = into[node]
                        while edge >= 0:
                            origin = added_from[edge]
                            if placed[origin] < 0 and mark[origin] != stamp:
                                mark[origin] = stamp
                                stack[top] = origin
                                top += 1
                            edge = next_into[edge]
            if added == room:
                break
            if added == known:
                # Two transactions wait for each other's reads: let one come before what it would overwrite.
                sure = min(sure, added)
                latest = -1
                for register in range(current.size):
                    node, after = waiting[register], writer[current[register]]
                    while node >= 0 and after >= 0 and placed[after] > latest:
                        stamp += 1
                        stack[0], top = after, 1
                        mark[after] = stamp
                        while top > 0 and mark[node] != stamp:
                            top -= 1
                            origin = stack[top]
                            steps += 1
                            for edge in range(start[origin], start[origin + 1]):
                                if mark[targets[edge]] != stamp:
                                    mark[targets[edge]] = stamp
                                    if placed[targets[edge]] >= 0:
                                        stack[top] = targets[edge]
                                        top += 1
                            edge = out[origin]
                            while edge >= 0:
                                if mark[added_to[edge]] != stamp:
                                    mark[added_to[edge]] = stamp
                                    if placed[added_to[edge]] >= 0:
                                        stack[top] = added_to[edge]
                                        top += 1
                                edge = next_out[edge]
                        if mark[node] != stamp:
                            latest = placed[after]
                            added_from[known], added_to[known] = node, after
                            added = known + 1
                        node = next_waiting[node]
                if added == known:
                    break
            for edge in range(known, added):
                node, after = added_from[edge], added_to[edge]
                next_out[edge], out[node] = out[node], edge
                next_into[edge], into[after] = into[after], edge
                waits[after] += 1
                first = min(first, placed[after])
            taken = done
            while done > first:
                done -= 1
                node = trail[done]
                steps += 1
                placed[node] = -1
                for edge in range(start[node], start[node + 1]):
                    waits[targets[edge]] += 1
                edge = out[node]
                while edge >= 0:
                    waits[added_to[edge]] += 1
                    edge = next_out[edge]
                if node < real:
                    for at in range(touch[node + 1] - 1, touch[node] - 1, -1):
                        if makes[at] >= 0:
                            current[key[at]] = before[at]
                        if needs[at] >= 0:
                            unread[needs[at]] += 1
            for register in range(current.size):
                node = waiting[register]
                while node >= 0:
                    if waits[node] == 0:
                        heappush(heap, rank[node])
                    node = next_waiting[node]
                waiting[register] = -1
            for place in range(first, taken):
                if waits[trail[place]] == 0:
                    heappush(heap, rank[trail[place]])
            continue
        node = by_rank[heappop(heap)]
        steps += 1
        if node < real:
            blocked = -1
            for at in range(touch[node], touch[node + 1]):
                version = current[key[at]]
                if makes[at] >= 0 and unread[version] > (1 if needs[at] == version else 0):
                    blocked = key[at]
            if blocked >= 0:
                next_waiting[node], waiting[blocked] = waiting[blocked], node
                continue
            for at in range(touch[node], touch[node + 1]):
                register = key[at]
                if needs[at] >= 0:
                    unread[needs[at]] -= 1
                before[at] = current[register]
                if makes[at] >= 0:
                    current[register] = makes[at]
                if unread[current[register]] <= 1:
                    other = waiting[register]
                    while other >= 0:
                        heappush(heap, rank[other])
                        other = next_waiting[other]
                    waiting[register] = -1
        placed[node], trail[done] = done, node
        done += 1
        for edge in range(start[node], start[node + 1]):
            waits[targets[edge]] -= 1
            if waits[targets[edge]] == 0:
                heappush(heap, rank[targets[edge]])
        edge = out[node]
        while edge >= 0:
            waits[added_to[edge]] -= 1
            if waits[added_to[edge]] == 0:
                heappush(heap, rank[added_to[edge]])
            edge = next_out[edge]
    sure = min(sure, added)
    return trail[:done], added_from[:sure], added_to[:sure]


def is_legal(order: Array, touch: Array, key: Array, needs: Array, makes: Array, current: Array) -> Any:
    """Return whether each transaction needs the current versions, if they are executed in this order."""
    current = current.copy()
    for row in order:
        for at in range(touch[row], touch[row + 1]):
            if needs[at] >= 0 and needs[at] != current[key[at]]:
                return False
        for at in range(touch[row], touch[row + 1]):
            if makes[at] >= 0:
                current[key[at]] = makes[at]
    return True
