"""The plan: what is to be run, frozen before anything starts, complete enough to run it again."""

from __future__ import annotations

import json
import math
import random
import re
import shlex
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from harness.errors import UsageError
from history.toml_file import read_text

if TYPE_CHECKING:
    from pathlib import Path

PLAN_FORMAT: Final = "harness-plan"
PLAN_VERSION: Final = 1
#: Of the faults in a test's name, in characters: it becomes a folder.
LONGEST_NAME: Final = 120

Timers: TypeAlias = Literal["fast", "stock"]
ReadMode: TypeAlias = Literal["log", "unsafe"]
Follows: TypeAlias = Literal["leader", "node"]
WorkloadName: TypeAlias = Literal["register", "cas-register"]
CanaryName: TypeAlias = Literal[
    "",
    "stale-reads",
    "ack-before-commit",
    "apply-twice",
    "skip-entry",
    "lose-write",
    "forget-in-snapshot",
    "snapshot-wrong-index",
    "vote-twice",
    "deposed-reads",
]

SYSTEM_VERSIONS: Final = ("0.4.0", "0.3.2")
#: Bugs that the server can be told to have, so that a harness that finds nothing is found out itself.
CANARIES: Final[tuple[CanaryName, ...]] = get_args(CanaryName)[1:]
SNAPSHOT_CANARIES: Final = ("forget-in-snapshot", "snapshot-wrong-index")
# The online monitor (``harness.execution.monitor``) follows these.
WATCHED_WORKLOADS: Final = ("register",)


def require_watchable(workload: str) -> None:
    """Raises UsageError for a workload that the monitor cannot follow."""
    if workload not in WATCHED_WORKLOADS:
        raise UsageError(
            f"--stop-on-violation follows registers whose values are written once each, not --workload {workload}: "
            f"take --workload register, or leave the option out and let the check after the run decide"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """One test.  Times are in seconds, ``rate`` in operations a second over all clients.

    ``nemesis`` are turns (see ``nemesis.schedule.steps``), or ``all``: every fault that can work on the cluster.
    ``weights`` says how often a turn comes, 1 where it says nothing; with several ``tracks`` so many cycles of faults
    overlap.  ``fault_options`` are the faults' own figures (``nemesis.core.options``); ``beyond_quorum`` lets faults
    stop a majority.  ``interval`` is both the calm before a fault and the fault's own length.  ``seed`` decides every
    random choice.  ``schedule``, if there is one, says which fault comes when (steps of ``nemesis.schedule.steps`` as
    JSON), instead of the cycle of ``nemesis``.  ``canary`` is a bug planted in the server, which takes one only in
    ``unsafe_test_mode``.
    """

    seed: int
    nemesis: tuple[str, ...] = ()
    weights: dict[str, float] = field(default_factory=dict)
    tracks: int = 1
    fault_options: dict[str, float] = field(default_factory=dict)
    beyond_quorum: bool = False
    cluster: str = "netns"
    nodes: int = 5
    version: str = "0.4.0"
    snapshot: bool = False
    snapshot_threshold: int = 1000
    timers: Timers = "fast"
    store: Literal["FILE", "MEMORY"] = "FILE"
    workload: WorkloadName = "register"
    read_mode: ReadMode = "log"
    client_follows: Follows = "leader"
    concurrency: int = 10
    rate: float = 200.0
    keys: int = 5
    time_limit: float = 60.0
    interval: float = 10.0
    warm_up: float = 2.0
    client_timeout: float = 4.0
    recovery_time: float = 60.0
    ready_timeout: float = 60.0
    check_deadline: float = 60.0
    schedule: tuple[dict[str, Any], ...] = ()
    stop_on_violation: bool = False
    restart_at_end: bool = False
    spark: bool = True
    spark_master: str = "local[*]"
    unsafe_test_mode: bool = False
    canary: CanaryName = ""

    @property
    def test(self) -> str:
        """The test's name, which is also its folder in the store."""
        faults = re.sub(r"[^\w+@!-]", ".", "+".join(self.nemesis)) or "no-fault"
        if len(faults) > LONGEST_NAME:
            faults = f"{len(self.nemesis)}-faults"
        mode = "-snapshot" if self.snapshot else ""
        planted = f"-canary-{self.canary}" if self.canary else ""
        return f"{self.workload}-{faults}-{self.version}{mode}{planted}"

    @property
    def model(self) -> str:
        """The checker's model for this workload."""
        return self.workload

    def rng(self, purpose: str) -> random.Random:
        """A generator of its own for each purpose, so that one consumer's draws never shift another's."""
        return random.Random(f"{self.seed}:{purpose}")

    def to_json(self) -> dict[str, Any]:
        return {
            "format": PLAN_FORMAT,
            "version_of_format": PLAN_VERSION,
            "test": self.test,
            "command": self.command(),
            **asdict(self),
        }

    @classmethod
    def from_json(cls, record: Any) -> Plan:
        """Raises UsageError if this is not a plan of a known version."""
        if not isinstance(record, dict):
            raise UsageError(f"not a plan but {json.dumps(record)[:100]}")
        if record.get("format") != PLAN_FORMAT or record.get("version_of_format") != PLAN_VERSION:
            raise UsageError(f"not a plan that this release reads: {json.dumps(record)[:100]}")
        names = {one.name for one in fields(cls)}
        values = {name: value for name, value in record.items() if name in names}
        values["nemesis"] = tuple(values.get("nemesis", ()))
        values["schedule"] = tuple(values.get("schedule", ()))
        return cls(**values)

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Raises UsageError with the path if the file is not a plan, OSError if it cannot be read."""
        try:
            return cls.from_json(json.loads(read_text(path)))
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError(f"{path}: not a plan: {error}") from None

    def command(self, written: str = "plan.json") -> str:
        """The command line that runs this plan again, the same tomorrow: what is under test is named, default or not.

        ``written`` is the file that holds this plan: a schedule of its own is taken from there.
        """
        words = ["harness", "run"]
        for one in fields(self):
            value = getattr(self, one.name)
            option = option_of(one.name)
            if isinstance(value, bool):
                words += [] if value == one.default else [option if value else option.replace("--", "--no-", 1)]
            elif isinstance(value, dict):
                figures = ",".join(f"{name}={_word(number)}" for name, number in value.items())
                words += [option, figures] if value else []
            elif one.name == "schedule":
                words += [option, written] if value else []
            elif one.name == "nemesis":
                words += [option, ",".join(value)] if value and not self.schedule else []
            elif one.name in _PINNED or value != one.default:
                words += [option, _word(value)]
        return shlex.join(words)


#: Named in every command, because a later release may have another default.
_PINNED: Final = ("seed", "version")

_OPTION_NAMES: Final = {"version": "dledger-version", "store": "store-type"}

_LEAST: Final[dict[str, float]] = {
    "concurrency": 1,
    "tracks": 1,
    "nodes": 3,
    "keys": 1,
    "snapshot_threshold": 1,
    "seed": 0,
    "warm_up": 0,
}
_ABOVE_ZERO: Final = (
    "rate",
    "time_limit",
    "interval",
    "client_timeout",
    "recovery_time",
    "ready_timeout",
    "check_deadline",
)
_WEEK: Final = 604_800.0
_LONG: Final = "whoever waits longer waits in vain"
#: What no run can make use of, and why: beyond it a figure is a slip of the hand.
_MOST: Final[dict[str, tuple[float, str]]] = {
    "concurrency": (1000, "one process drives all clients, and more of them only wait for each other"),
    "rate": (10_000, "one process issues all operations"),
    "keys": (10_000, "each is read through every node at the end"),
    "tracks": (20, "so many faults at once leave no cluster to look at"),
    "nodes": (99, "names and addresses of nodes end there"),
    "snapshot_threshold": (2**31 - 1, "the server takes a number of 32 bits"),
    "seed": (2**63 - 1, "it is kept in 64 bits"),
    "time_limit": (_WEEK, "a test of more than a week is several runs: --test-count"),
    "interval": (_WEEK, "a test of more than a week is several runs: --test-count"),
    "warm_up": (3600, _LONG),
    "client_timeout": (3600, _LONG),
    "recovery_time": (86_400, _LONG),
    "ready_timeout": (3600, _LONG),
    "check_deadline": (_WEEK, _LONG),
}
MOST_RUNS: Final = 10_000
_MOST_FAULTS: Final = 1_000_000
_HEAVIEST: Final = 1_000_000


def validate(plan: Plan) -> Plan:
    """The plan itself, or UsageError: one line that names the option and the mend."""
    _validate_bounds(plan)
    if plan.version not in SYSTEM_VERSIONS:
        raise UsageError(f"--dledger-version must be one of {', '.join(SYSTEM_VERSIONS)}, not {plan.version}")
    if plan.stop_on_violation:
        require_watchable(plan.workload)
    if plan.restart_at_end and plan.store == "MEMORY":
        raise UsageError("--restart-at-end needs --store-type FILE: what is kept in memory is lost with its processes")
    if plan.snapshot and plan.version == "0.3.2":
        raise UsageError("--snapshot needs --dledger-version 0.4.0: 0.3.2 is run without snapshots only")
    _validate_canary(plan)
    return plan if plan.schedule else _validate_turns(plan)


def _validate_bounds(plan: Plan) -> None:
    for name, least in _LEAST.items():
        if not least <= getattr(plan, name) < float("inf"):
            raise UsageError(f"{option_of(name)} must be at least {least:g}, not {getattr(plan, name)}")
    for name in _ABOVE_ZERO:
        value = getattr(plan, name)
        if not 0 < value < float("inf"):
            raise UsageError(f"{option_of(name)} must be above 0 and finite, not {value:g}")
    for name, (most, why) in _MOST.items():
        if getattr(plan, name) > most:
            given = _word(getattr(plan, name))[:30]
            raise UsageError(f"{option_of(name)} must be at most {_word(most)}, not {given}: {why}")


def _validate_turns(plan: Plan) -> Plan:
    turns = len(plan.nemesis)
    if plan.tracks > max(turns, 1) and "all" not in plan.nemesis:
        raise UsageError(f"--tracks {plan.tracks} is more than there are turns in --nemesis ({turns}): take fewer")
    for name, weight in plan.weights.items():
        if name not in plan.nemesis and "all" not in plan.nemesis:
            raise UsageError(f"--weights: {name} is no turn of --nemesis {','.join(plan.nemesis) or '(none)'}")
        if not 0 < weight <= _HEAVIEST:
            raise UsageError(
                f"--weights: {name} must be above 0 and at most {_HEAVIEST}, not {weight:g}; or leave it out"
            )
    if turns and plan.time_limit / plan.interval > _MOST_FAULTS:
        raise UsageError(
            f"--interval {plan.interval:g} makes more than {_MOST_FAULTS} faults of --time-limit {plan.time_limit:g}: "
            "take a longer one"
        )
    needed = 2 * plan.interval * math.ceil(turns / plan.tracks)
    if plan.time_limit < needed:
        raise UsageError(
            f"--time-limit {plan.time_limit:g} leaves no room for a calm and a fault of --interval {plan.interval:g} "
            f"for each of the {turns} in --nemesis: take at least {needed:g}, or a shorter --interval"
        )
    return plan


def _validate_canary(plan: Plan) -> None:
    if plan.canary and plan.canary not in CANARIES:
        raise UsageError(f"--canary must be one of {', '.join(CANARIES)}, not {plan.canary}")
    if plan.canary and not plan.unsafe_test_mode:
        raise UsageError(
            f"--canary {plan.canary} makes the server wrong on purpose: give --unsafe-test-mode too, or neither"
        )
    if plan.canary in SNAPSHOT_CANARIES and not plan.snapshot:
        raise UsageError(f"--canary {plan.canary} does nothing in a server without snapshots: give --snapshot too")
    if plan.unsafe_test_mode and not plan.canary:
        raise UsageError("--unsafe-test-mode is for --canary, and does nothing without one: leave it out")


def option_of(field: str) -> str:
    """The command line's option that sets a field of the plan."""
    return "--" + _OPTION_NAMES.get(field, field.replace("_", "-"))


def field_of(option: str) -> str:
    """The field that an option sets (``--`` may be left out); the field's own name is understood as well."""
    name = option.removeprefix("--").replace("_", "-")
    return {written: field for field, written in _OPTION_NAMES.items()}.get(name, name.replace("-", "_"))


def _word(value: object) -> str:
    """A value as it stands on a command line: short where that is the very same number."""
    if isinstance(value, float) and float(short := f"{value:g}") == value:
        return short
    return str(value)
