"""The plan: what is to be run, frozen before anything starts, complete enough to run it again."""

from __future__ import annotations

import math
import random
import re
import shlex
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args

from msgspec import Meta

from harness.errors import UsageError
from harness.systems import DEFAULT, Machine, Setup, System, find_system
from harness.systems.api import Scale, Workload
from history.json_object import load_object
from history.schema import convert
from history.toml_file import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PLAN_FORMAT: Final = "harness-plan"
PLAN_VERSION: Final = 1
#: Of the faults in a test's name, in characters: it becomes a folder.
LONGEST_NAME: Final = 120

SystemVersion: TypeAlias = Literal["0.4.0", "0.3.2"]
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

SYSTEM_VERSIONS: Final[tuple[SystemVersion, ...]] = get_args(SystemVersion)
#: Bugs that the server can be told to have, so that a harness that finds nothing is found out itself.
CANARIES: Final[tuple[CanaryName, ...]] = get_args(CanaryName)[1:]
SNAPSHOT_CANARIES: Final = ("forget-in-snapshot", "snapshot-wrong-index")
MOST_RUNS: Final = 10_000
_MOST_FAULTS: Final = 1_000_000
_WEEK: Final = 604_800
_LONG: Final = "whoever waits longer waits in vain"

# What a figure may be, and why no run can make use of more: beyond it, it is a slip of the hand.
Seed: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1, description="it is kept in 64 bits")]
Weight: TypeAlias = Annotated[float, Meta(gt=0, le=1_000_000, description="leave out what is not wanted")]
Tracks: TypeAlias = Annotated[int, Meta(ge=1, le=20, description="more faults at once leave no cluster to look at")]
Nodes: TypeAlias = Annotated[int, Meta(ge=3, le=99, description="a majority of fewer is no test, and names end at n99")]
Entries: TypeAlias = Annotated[int, Meta(ge=1, le=2**31 - 1, description="the server takes a number of 32 bits")]
Clients: TypeAlias = Annotated[
    int, Meta(ge=1, le=1000, description="one process drives all clients, and more of them only wait for each other")
]
Rate: TypeAlias = Annotated[float, Meta(gt=0, le=10_000, description="one process issues all operations")]
Keys: TypeAlias = Annotated[int, Meta(ge=1, le=10_000, description="each is read through every node at the end")]
Length: TypeAlias = Annotated[
    float, Meta(gt=0, le=_WEEK, description="a test of more than a week is several runs: --test-count")
]
WarmUp: TypeAlias = Annotated[float, Meta(ge=0, le=3600, description=_LONG)]
Timeout: TypeAlias = Annotated[float, Meta(gt=0, le=3600, description=_LONG)]
RecoveryTime: TypeAlias = Annotated[float, Meta(gt=0, le=86_400, description=_LONG)]
Deadline: TypeAlias = Annotated[float, Meta(gt=0, le=_WEEK, description=_LONG)]

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

    seed: Seed
    nemesis: tuple[str, ...] = ()
    weights: dict[str, Weight] = field(default_factory=dict)
    tracks: Tracks = 1
    fault_options: dict[str, float] = field(default_factory=dict)
    beyond_quorum: bool = False
    cluster: str = "netns"
    nodes: Nodes = 5
    version: SystemVersion = "0.4.0"
    snapshot: bool = False
    snapshot_threshold: Entries = 1000
    timers: Timers = "fast"
    store: Literal["FILE", "MEMORY"] = "FILE"
    workload: WorkloadName = "register"
    read_mode: ReadMode = "log"
    client_follows: Follows = "leader"
    concurrency: Clients = 10
    rate: Rate = 200.0
    keys: Keys = 5
    time_limit: Length = 60.0
    interval: Length = 10.0
    warm_up: WarmUp = 2.0
    client_timeout: Timeout = 4.0
    recovery_time: RecoveryTime = 60.0
    ready_timeout: Timeout = 60.0
    check_deadline: Deadline = 60.0
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
    def under_test(self) -> System:
        """The system under test."""
        return find_system(DEFAULT)

    def setup(self, nodes: Iterable[Machine] = ()) -> Setup:
        """What the plan chose of the system, on these machines."""
        chosen = {option.name: getattr(self, option.before or option.name) for option in self.under_test.options}
        return Setup(
            version=self.version, options=chosen, canary=self.canary, nodes=tuple(nodes),
            client_timeout=self.client_timeout,
        )  # fmt: skip

    @property
    def load(self) -> Workload:
        """What clients do."""
        return next(one for one in self.under_test.workloads if one.name == self.workload)

    def scale(self, nodes: Iterable[Machine] = ()) -> Scale:
        """What the workload's generators are made for."""
        return Scale(keys=self.keys, workers=self.concurrency, setup=self.setup(nodes))

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
    def from_json(cls, record: dict[str, Any]) -> Plan:
        """Raises ValueError if this is not a plan of a known version; what only a later release knows is left out."""
        if record.get("format") != PLAN_FORMAT or record.get("version_of_format") != PLAN_VERSION:
            raise ValueError(f"not of a format that this release reads: {str(record)[:100]}")
        return convert(record, cls)

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Raises UsageError with the path if the file is not a plan, OSError if it cannot be read."""
        try:
            return cls.from_json(load_object(read_text(path)))
        except ValueError as error:
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


def validate(plan: Plan) -> Plan:
    """The plan itself, or UsageError: one line that names the option and the mend."""
    try:
        convert(asdict(plan), Plan, option_of)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if plan.stop_on_violation:
        require_watchable(plan.workload)
    if plan.restart_at_end and plan.store == "MEMORY":
        raise UsageError("--restart-at-end needs --store-type FILE: what is kept in memory is lost with its processes")
    if plan.snapshot and plan.version == "0.3.2":
        raise UsageError("--snapshot needs --dledger-version 0.4.0: 0.3.2 is run without snapshots only")
    _validate_canary(plan)
    return plan if plan.schedule else _validate_turns(plan)


def _validate_turns(plan: Plan) -> Plan:
    turns = len(plan.nemesis)
    if plan.tracks > max(turns, 1) and "all" not in plan.nemesis:
        raise UsageError(f"--tracks {plan.tracks} is more than there are turns in --nemesis ({turns}): take fewer")
    for name in plan.weights:
        if name not in plan.nemesis and "all" not in plan.nemesis:
            raise UsageError(f"--weights: {name} is no turn of --nemesis {','.join(plan.nemesis) or '(none)'}")
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
