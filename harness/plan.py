"""The plan: what to run, fixed before anything starts, and enough to run it again."""

# ruff: noqa: RUF009 (an option is a field of a dataclass)
from __future__ import annotations

import math
import random
import shlex
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta

from harness.errors import UsageError
from harness.names import test_name
from harness.spark_settings import CONF_HELP, MASTER_HELP, require_recordable
from harness.systems import DEFAULT, Machine, Setup, System, find_system, installed
from harness.systems.api import OptionValue, PlantedBug, Scale, Workload
from harness.systems.choices import check_options, choices, with_defaults
from harness.systems.declared import require_able
from history.json_object import load_object
from history.schema import convert, convert_recorded, hint
from history.toml_file import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PLAN_FORMAT: Final = "harness-plan"
PLAN_VERSION: Final = 2

#: What ``--cluster`` takes.
CLUSTER_SPECS: Final = "netns, netns:NAME, inventory:FILE.toml, vagrant or vagrant:DIR"

Loop: TypeAlias = Literal["closed", "open"]
MAX_RUNS: Final = 10_000
_MAX_FAULTS: Final = 1_000_000
_WEEK: Final = 604_800
_LONG: Final = "longer waits do not help"

# The bounds of each number, and why no run can use more: larger values are almost certainly typos.
Seed: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1, description="it is stored in 64 bits")]
Weight: TypeAlias = Annotated[float, Meta(gt=0, le=1_000_000, description="leave out the faults that you do not want")]
Tracks: TypeAlias = Annotated[int, Meta(ge=1, le=20, description="more faults at once leave no cluster to observe")]
Nodes: TypeAlias = Annotated[int, Meta(ge=1, le=99, description="node names end at n99")]
Clients: TypeAlias = Annotated[
    int,
    Meta(
        ge=1, le=1000, description="one process drives all clients; beyond this number, they only wait for each other"
    ),
]
Rate: TypeAlias = Annotated[float, Meta(gt=0, le=10_000, description="one process issues all operations")]
Keys: TypeAlias = Annotated[int, Meta(ge=1, le=10_000, description="at the end, a client of each node reads every key")]
Length: TypeAlias = Annotated[
    float, Meta(gt=0, le=_WEEK, description="split a test of more than a week into several runs: --test-count")
]
ShortestFault: TypeAlias = Annotated[float, Meta(ge=0, le=3600, description=_LONG)]
WarmUp: TypeAlias = Annotated[float, Meta(ge=0, le=3600, description=_LONG)]
Timeout: TypeAlias = Annotated[float, Meta(gt=0, le=3600, description=_LONG)]
RecoveryTime: TypeAlias = Annotated[float, Meta(gt=0, le=86_400, description=_LONG)]
Deadline: TypeAlias = Annotated[float, Meta(gt=0, le=_WEEK, description=_LONG)]


def option(default: Any = MISSING, help: str = "") -> Any:  # noqa: A002 (click's word)
    """Declare a field of the plan with its help text.

    The field has the type and the bounds.  The command line, the schemas of plans and suites, the names of environment
    variables and the table in docs/results.md are all generated from these declarations.
    """
    made: dict[str, Any] = {"default_factory": default.copy} if isinstance(default, dict) else {"default": default}
    return field(**made, metadata={"help": help})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One test, as an immutable value.

    Choices that were left out are filled in with the system's defaults when a plan is made.
    """

    seed: Seed = option(help="Seed for all random choices.  [default: random, and printed]")
    # Turns of ``nemesis.schedule.steps``.
    nemesis: tuple[str, ...] = option(
        (),
        "Faults: a,b alternates between the two; a+b injects both at once; a@leader hits the leader; all stands for "
        "every fault that can work on the cluster. `harness list faults` names them.",
    )
    weights: dict[str, Weight] = option({}, "Relative frequency of each turn: kill-leader=3,bridge=1.")
    tracks: Tracks = option(1, "Number of fault cycles that run in parallel.")
    fault_options: dict[str, float] = option({}, "Parameters of the faults: loss=0.4,delay_ms=100.")
    beyond_quorum: bool = option(
        default=False,
        help="Allow every fault to stop or damage a majority. By default, only faults meant to do so may, such as "
        "kill-all.",
    )
    cluster: str = option("netns", f"{CLUSTER_SPECS}.")
    nodes: Nodes = option(5, "Number of nodes in a netns cluster.")
    system: str = option(
        DEFAULT,
        "The system to test. `harness list systems` lists them; --system NAME --help shows a system's options.",
    )
    version: str = option("", "Version of the system.")
    options: dict[str, OptionValue] = option({}, "Options of the system, by name.")
    workload: str = option("", "What the clients do.")
    concurrency: Clients = option(10, "Number of clients.")
    rate: Rate = option(200.0, "Operations per second, all clients together.")
    loop: Loop = option(
        "closed",
        "open: operations come due at the rate and wait for a free client; closed: a client that waits for an "
        "answer delays the operations after it.",
    )
    keys: Keys = option(5, "Number of keys, or of whatever other objects the workload uses.")
    time_limit: Length = option(60.0, "Length of the main phase, in seconds.")
    interval: Length = option(10.0, "Length of each fault, in seconds. The calms between faults are a little shorter.")
    shortest_fault: ShortestFault = option(
        0.0,
        "Shortest length of a fault, in seconds: lengths are drawn between this and the interval; 0: always the "
        "interval.",
    )
    warm_up: WarmUp = option(2.0, "Length of the load before the main phase, in seconds.")
    client_timeout: Timeout = option(4.0, "Seconds to wait for the answer to an operation.")
    recovery_time: RecoveryTime = option(60.0, "Seconds allowed for recovery.")
    ready_timeout: Timeout = option(60.0, "Seconds to wait for a leader to answer.")
    check_deadline: Deadline = option(60.0, "Seconds the checker may spend on all keys together.")
    # Steps of ``nemesis.schedule.steps`` as JSON, instead of the cycle.
    schedule: tuple[dict[str, Any], ...] = option(
        (), "Fault script (TOML), by path or name, or its steps in the form of plan.json."
    )
    stop_on_violation: bool = option(
        default=False, help="End the run at the first violation; only for workloads that write each value once."
    )
    restart_at_end: bool = option(
        default=False, help="At the end, kill and restart all servers, and read every key or object again."
    )
    spark: bool = option(default=True, help="Judge with Spark, or with the same functions in this process.")
    spark_master: str = option("local[*]", MASTER_HELP)
    spark_conf: dict[str, str] = option({}, CONF_HELP)
    unsafe_test_mode: bool = option(default=False, help="Allow --planted-bug.")
    planted_bug: str = option("", "A bug to plant in the system, which the run must find.")

    def __post_init__(self) -> None:
        """Fill in the system's defaults if it is installed."""
        if (system := installed(self.system)) is None:
            return
        object.__setattr__(self, "version", self.version or system.versions[0])
        object.__setattr__(self, "workload", self.workload or system.workloads[0].name)
        object.__setattr__(self, "options", with_defaults(system, self.options))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Plan:
        """Make a plan from its own fields and the system's options side by side, as they appear in files."""
        own = {name: value for name, value in values.items() if name in FIELDS}
        options = {name: value for name, value in values.items() if name not in FIELDS}
        return cls(**{**own, "options": {**own.get("options", {}), **options}})

    @property
    def test(self) -> str:
        """The name of the test, which is also its folder in the store."""
        system = () if self.system == DEFAULT else (self._name,)
        version, *marks = self._chosen()
        return test_name(
            (*system, self.workload), self.nemesis, (version, *(mark.replace(" ", "-", 1) for mark in marks))
        )

    @property
    def label(self) -> str:
        """The version under test, by which runs are grouped, such as ``0.4.0 snapshot`` or ``zookeeper 3.9.3``."""
        return " ".join([*([] if self.system == DEFAULT else [self._name]), *self._chosen()])

    @property
    def _name(self) -> str:
        return self.system if (system := installed(self.system)) is None else system.name

    def _chosen(self) -> list[str]:
        """Return the version, the options that make it effectively another system, and the planted bug."""
        system, words = installed(self.system), [self.version]
        for option in system.options if system is not None else ():
            value = self.options.get(option.name, option.default)
            if option.marks_runs and value != option.default:
                words.append(option.name if value is True else f"{option.name} {value}")
        return [*words, *([f"planted-bug {self.planted_bug}"] if self.planted_bug else [])]

    @property
    def under_test(self) -> System:
        """The system under test.  Raises UsageError if it is not installed."""
        return find_system(self.system)

    def setup(self, nodes: Iterable[Machine] = ()) -> Setup:
        """Return the plan's choices for the system, on these machines."""
        return Setup(
            version=self.version, options=self.options, planted_bug=self.planted_bug, nodes=tuple(nodes),
            client_timeout=self.client_timeout, workload=self.workload,
        )  # fmt: skip

    @property
    def load(self) -> Workload:
        """The workload of the clients.  Raises UsageError if the system does not have it."""
        known = {workload.name: workload for workload in self.under_test.workloads}
        if self.workload not in known:
            raise UsageError(f"--workload: {self.system} has no {self.workload!r}; {hint(self.workload, known)}")
        return known[self.workload]

    def scale(self, used: Iterable[str | int] = ()) -> Scale:
        """Return the sizes that the workload is built for, given the keys that have had operations."""
        return Scale(keys=self.keys, workers=self.concurrency, setup=self.setup(), used=tuple(used))

    @property
    def model(self) -> str | None:
        """The checker's model for this workload, or None if the workload has its own check."""
        return self.load.model_of(self.setup())

    @property
    def declared_planted_bug(self) -> PlantedBug | None:
        """The planted bug as its system declares it, or None if there is none or the system is not installed."""
        planted_bugs = system.planted_bugs if (system := installed(self.system)) is not None else ()
        return next((bug for bug in planted_bugs if bug.name == self.planted_bug), None)

    @property
    def found_by(self) -> tuple[str, ...]:
        """The checks that look for the planted bug; empty if there is none or the system is not installed."""
        return self.declared_planted_bug.found_by if self.declared_planted_bug is not None else ()

    def rng(self, purpose: str) -> random.Random:
        """Return a separate random generator for a purpose, so that draws for one never shift those for another."""
        return random.Random(f"{self.seed}:{purpose}")

    def to_json(self) -> dict[str, Any]:
        return {
            "format": PLAN_FORMAT,
            "version_of_format": PLAN_VERSION,
            "test": self.test,
            "command": self.command(),
            "label": self.label,
            **({"planted_bug_found_by": list(self.found_by)} if self.planted_bug else {}),
            **asdict(self),
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Plan:
        """Read a plan of a known version, ignoring fields that only later releases know.  Raises ValueError.

        Only types are checked, not bounds: a recorded run can be judged whatever the bounds were when it started.
        """
        if record.get("format") != PLAN_FORMAT or record.get("version_of_format") != PLAN_VERSION:
            raise ValueError(f"not in a format that this release reads: {str(record)[:100]}")
        return convert_recorded(record, cls)

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read a plan file.  Raises UsageError with the path if it is not a plan, OSError if it cannot be read."""
        try:
            return cls.from_json(load_object(read_text(path)))
        except ValueError as error:
            raise UsageError(f"{path}: not a plan: {error}") from None

    def command(self, written: str = "plan.json") -> str:
        """Return the command line that runs this plan again.

        It names the system and its version even if they are defaults, because defaults may change.  ``written`` is the
        file that holds this plan; the command refers to it for a schedule.
        """
        words = ["harness", "run"]
        for setting in fields(self):
            value = getattr(self, setting.name)
            option = option_of(setting.name)
            if setting.name == "options":
                words += self._option_words()
            elif setting.name == "workload":
                words += [option, value] if value != self._first_workload() else []
            elif isinstance(value, bool):
                words += [] if value == setting.default else [option if value else option.replace("--", "--no-", 1)]
            elif isinstance(value, dict):
                words += _table_words(setting.name, value)
            elif setting.name == "schedule":
                words += [option, written] if value else []
            elif setting.name == "nemesis":
                words += [option, ",".join(value)] if value and not self.schedule else []
            elif setting.name == "version":
                words += [option, value] if self.system == DEFAULT else ["--system", f"{self.system}@{value}"]
            elif setting.name == "seed" or (setting.name != "system" and value != setting.default):
                words += [option, _word(value)]
        return shlex.join(words)

    def _first_workload(self) -> str:
        system = installed(self.system)
        return "" if system is None else system.workloads[0].name

    def _option_words(self) -> list[str]:
        system = installed(self.system)
        defaults = {option.name: option.default for option in system.options} if system is not None else {}
        changed = {name: value for name, value in self.options.items() if value != defaults.get(name)}
        return [word for name, value in changed.items() for word in option_words(name, value)]


FIELDS: Final = frozenset(setting.name for setting in fields(Plan))
#: The help of each field.
HELP: Final[Mapping[str, str]] = {setting.name: setting.metadata["help"] for setting in fields(Plan)}
#: Options of ``harness run`` that are not fields of a plan.  Systems cannot use these names for options.
_TAKEN: Final = frozenset({"plan", "store", "test_count", "keep_cluster", "dry_run", "json", "option", "help"})
_OPTION_NAMES: Final = {"version": f"{DEFAULT}-version"}
#: Another way to name the default system's version.
VERSION_OPTION: Final = f"--{DEFAULT}-version"


def is_free(name: str) -> bool:
    """Return whether an option of a system may be written as ``--name``, and not only as ``-o name=value``."""
    return name not in FIELDS and name not in _TAKEN


def _table_words(name: str, table: Mapping[str, Any]) -> list[str]:
    """Return a table field as words of a command line: one option per Spark setting, other tables as one word."""
    option = option_of(name)
    if name == "spark_conf":
        return [word for setting, text in table.items() for word in (option, f"{setting}={text}")]
    return [option, ",".join(f"{figure}={_word(number)}" for figure, number in table.items())] if table else []


def option_words(name: str, value: OptionValue) -> list[str]:
    """Return an option of a system as words of a command line."""
    flag = option_of(name)
    if not is_free(name):
        return ["-o", f"{name}={_word(value)}"]
    if isinstance(value, bool):
        return [flag if value else flag.replace("--", "--no-", 1)]
    return [flag, _word(value)]


def validate(plan: Plan) -> Plan:
    """Return the plan unchanged if it is valid.

    Raises UsageError with one line that names the option and how to fix it.
    """
    try:
        convert(asdict(plan), Plan, option_of)
    except ValueError as error:
        raise UsageError(str(error)) from None
    _validate_choices(plan)
    if plan.stop_on_violation:
        require_watchable(plan)
    if plan.restart_at_end and (why := plan.under_test.surface(plan.setup()).memory_only):
        raise UsageError(f"--restart-at-end {why}")
    require_able(plan.under_test, plan.setup())
    _validate_planted_bug(plan)
    require_recordable(plan.spark_conf)
    return plan if plan.schedule else _validate_turns(plan)


def _validate_turns(plan: Plan) -> Plan:
    turns = len(plan.nemesis)
    if plan.tracks > max(turns, 1) and "all" not in plan.nemesis:
        raise UsageError(f"--tracks {plan.tracks} is more than the number of turns in --nemesis ({turns}): use fewer")
    for name in plan.weights:
        if name not in plan.nemesis and "all" not in plan.nemesis:
            raise UsageError(f"--weights: {name} is not a turn of --nemesis {','.join(plan.nemesis) or '(none)'}")
    if turns and plan.time_limit / plan.interval > _MAX_FAULTS:
        raise UsageError(
            f"--interval {plan.interval:g} fits more than {_MAX_FAULTS} faults into --time-limit {plan.time_limit:g}: "
            f"use a longer one"
        )
    if plan.shortest_fault > plan.interval:
        raise UsageError(f"--shortest-fault {plan.shortest_fault:g} is longer than --interval {plan.interval:g}")
    needed = 2 * plan.interval * math.ceil(turns / plan.tracks)
    if plan.time_limit < needed:
        raise UsageError(
            f"--time-limit {plan.time_limit:g} leaves no room for a calm and a fault of --interval {plan.interval:g} "
            f"for each of the {turns} in --nemesis: use at least {needed:g}, or a shorter --interval"
        )
    return plan


def require_watchable(plan: Plan) -> None:
    """Check that the monitor can follow the workload.  Raises UsageError."""
    if not watchable(plan.load):
        others = [workload.name for workload in plan.under_test.workloads if watchable(workload)]
        mend = f"use --workload {' or '.join(others)}, or drop the option" if others else "drop the option"
        raise UsageError(
            f"--stop-on-violation needs registers whose values are each written only once, unlike --workload "
            f"{plan.workload}: {mend} and let the check after the run decide"
        )


def watchable(workload: Workload) -> bool:
    """Return whether the monitor can follow the workload's events."""
    return workload.written_once and workload.model == "register"


def _validate_choices(plan: Plan) -> None:
    """Check the fields whose values depend on the system: version, workload, planted bug and options."""
    chosen = {"version": plan.version, "workload": plan.workload, "planted_bug": plan.planted_bug}
    spelled = {"version": f"--system {plan.system}@VERSION"}
    try:
        convert(chosen, choices(plan.under_test), lambda name: spelled.get(name) or option_of(name))
        check_options(plan.under_test, plan.options, option_of)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _validate_planted_bug(plan: Plan) -> None:
    if plan.planted_bug and not plan.unsafe_test_mode:
        raise UsageError(
            f"--planted-bug {plan.planted_bug} breaks the server on purpose: add --unsafe-test-mode, or leave both out"
        )
    for bug in plan.under_test.planted_bugs if plan.planted_bug else ():
        missing = {name: value for name, value in bug.options.items() if plan.options[name] != value}
        if bug.name == plan.planted_bug and missing:
            words = shlex.join(word for name, value in missing.items() for word in option_words(name, value))
            raise UsageError(f"--planted-bug {plan.planted_bug} has no effect without {words}: add {words}")
    if plan.unsafe_test_mode and not plan.planted_bug:
        raise UsageError("--unsafe-test-mode does nothing without --planted-bug: leave it out")


def option_of(field: str) -> str:
    """Return the command-line option that sets a field of the plan."""
    return "--" + _OPTION_NAMES.get(field, field.replace("_", "-"))


def field_of(option: str) -> str:
    """Return the field that an option sets.  Accepts the option with or without ``--``, and the field's own name."""
    name = option.removeprefix("--").replace("_", "-")
    return {written: field for field, written in _OPTION_NAMES.items()}.get(name, name.replace("-", "_"))


def _word(value: object) -> str:
    """Return a value as a word of a command line, shortened only if that is exactly the same number."""
    if isinstance(value, float) and float(short := f"{value:g}") == value:
        return short
    return str(value)
