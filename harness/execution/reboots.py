"""Find nodes that rebooted or disappeared during the run, which is not the system's doing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nemesis.core.ports import Command, Completed, Nodes, run_each

#: Prints the kernel's boot id and the start time of process 1.  Namespaces and containers share only the boot id.
_LOOK: Final = Command(
    ("sh", "-c", "cat /proc/sys/kernel/random/boot_id; sed 's/.*) //' /proc/1/stat | cut -d ' ' -f 20"), timeout=30.0
)


def boots(nodes: Nodes) -> dict[str, str]:
    """Return a string for each node that identifies its current boot.

    Leaves out nodes that did not answer completely.
    """
    answers = nodes.run(dict.fromkeys(nodes.names, _LOOK))
    return {node: answer.stdout for node, answer in answers.items() if _is_whole(answer)}


def _is_whole(answer: Completed) -> bool:
    """Return whether both lines were printed; a node that is out of memory or processes may print neither."""
    return answer.code == 0 and len(answer.stdout.split()) == 2


def lost(nodes: Nodes, before: Mapping[str, str]) -> list[str]:
    """Return a sentence for each node that was rebooted since ``before`` or can no longer be reached."""
    answers, errors = run_each(nodes, dict.fromkeys(before, _LOOK))
    return [
        *(f"not reached at the end of the run: {error}" for error in errors.values()),
        *(
            f"{node} was rebooted during the run, which killed its processes; no fault of the schedule did this"
            for node, answer in answers.items()
            if _is_whole(answer) and answer.stdout != before[node]
        ),
    ]
