"""A healthy node, and status answers that read one figure after another while the node continues.

For the checks of what nodes report about themselves, which must not accuse such a node, whatever the order of the
reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from history import Probe

S = 1_000_000_000
FIGURES = ("role", "term", "log_begin", "log_end", "committed", "applied")


@dataclass(slots=True)
class Node:
    """A node whose log holds begin..end, committed up to ``committed``; a step changes one thing that Raft allows."""

    role: str = "follower"
    term: int = 1
    log_begin: int = 0
    log_end: int = -1
    committed: int = -1
    applied: int = -1
    snapshots_loaded: int = 0

    def step(self, kind: str, amount: int) -> None:
        """Make one change that a correct node can make; do nothing if ``kind`` is impossible now."""
        if kind == "append":
            self.log_end += amount
        elif kind == "truncate":
            self.log_end = max(self.log_end - amount, self.committed, self.log_begin - 1)
        elif kind == "commit":
            self.committed = min(self.committed + amount, self.log_end)
        elif kind == "apply":
            self.applied = min(self.applied + amount, self.committed)
        elif kind == "save":  # a snapshot takes the place of the log's applied entries
            self.log_begin = max(self.log_begin, min(self.log_begin + amount, self.applied + 1))
        elif kind == "install" and amount > 3:  # all at once, as a node that reports no end of an empty log would
            index = self.committed + amount
            self.committed = self.applied = index
            self.log_begin, self.log_end, self.snapshots_loaded = index + 1, index, self.snapshots_loaded + 1
        elif kind == "term":
            self.term, self.role = self.term + amount, "follower"


STEPS = ("append", "truncate", "commit", "apply", "save", "install", "term")
steps = st.tuples(st.sampled_from(STEPS), st.integers(1, 5))
#: Before each figure is read, some steps; then so many until the next answer; and the order of the reads.
answers = st.tuples(
    st.permutations(FIGURES),
    st.lists(st.lists(steps, max_size=3), min_size=len(FIGURES), max_size=len(FIGURES)),
    st.lists(steps, max_size=6),
)


def run_of(
    node: Node, script: list[tuple[list[str], list[list[tuple[str, int]]], list[tuple[str, int]]]]
) -> list[Probe]:
    """Return the node's answers, four per second, with reads spread as the script says."""
    probes = []
    for number, (order, before, between) in enumerate(script):
        figures = {}
        for figure, happens in zip(order, before, strict=True):
            for kind, amount in happens:
                node.step(kind, amount)
            figures[figure] = getattr(node, figure)
        probes.append(Probe(number * S // 4, "n1", snapshots_loaded=node.snapshots_loaded, pid=7, **figures))
        for kind, amount in between:
            node.step(kind, amount)
    return probes
