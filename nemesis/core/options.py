"""The options of faults that a plan can set, with their defaults and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from msgspec import Meta

from history.schema import convert, table
from nemesis.core.errors import OptionError

# This makes types at run time, which a type checker cannot follow.
_annotated: Final[Any] = Annotated


@dataclass(frozen=True, slots=True)
class FaultOption:
    """One option: its default, its bounds, the fault it belongs to, and its meaning."""

    default: float
    least: float
    most: float
    fault: str
    meaning: str


OPTIONS: Final[Mapping[str, FaultOption]] = {
    "bitflips": FaultOption(8, 1, 1e6, "file-bitflip", "maximum number of bits flipped"),
    "cpu_share": FaultOption(0.05, 0.01, 1, "cpu-starve", "of one processor"),
    "cut_real_disks": FaultOption(
        0, 0, 1, "crash-random-nodes", "1 allows shutting down a filesystem that is not on a loop device"
    ),
    "damage_data": FaultOption(6, 0, 1e6, "file-bitflip", "weight of this class of files, also for file-truncate"),
    "damage_index": FaultOption(1, 0, 1e6, "file-bitflip", "weight of this class of files, also for file-truncate"),
    "damage_snapshot": FaultOption(3, 0, 1e6, "file-bitflip", "weight of this class of files, also for file-truncate"),
    "damage_term": FaultOption(0, 0, 1e6, "file-bitflip", "weight of this class of files, also for file-truncate"),
    "delay_ms": FaultOption(50, 1, 10_000, "packet-delay", "milliseconds"),
    "duplicate": FaultOption(0.1, 0.001, 1, "packet-duplicate", "share of the packets"),
    "isolate_s": FaultOption(300, 1, 86_400, "isolate-until-snapshot", "longest wait for the lag, in seconds"),
    "jitter_ms": FaultOption(10, 0, 10_000, "packet-delay", "milliseconds, both ways"),
    "loss": FaultOption(0.2, 0.001, 1, "packet-loss", "share of the packets"),
    "memory_mb": FaultOption(16, 1, 1e6, "memory-pressure", "megabytes"),
    "partition_port": FaultOption(
        0, 0, 65_535, "partition-random-halves", "the only TCP port that any partition cuts; 0: all"
    ),
    "reorder": FaultOption(0.25, 0.001, 1, "packet-reorder", "share of the packets"),
    "reorder_delay_ms": FaultOption(20, 1, 10_000, "packet-reorder", "milliseconds by which the others are delayed"),
    "rolling_pause_s": FaultOption(1, 0.01, 600, "rolling-kill", "longest time between two steps, in seconds"),
    #: The upper bound exists because the witness sends a burst above the rate, and a shell sends about 10,000 kB/s.
    "slow_kbytes_s": FaultOption(32, 1, 5_000, "slow-link", "kilobytes a second"),
    "successor_delay_s": FaultOption(
        2, 0, 60, "kill-leader-then-successor", "longest time that the next leader is left alone, in seconds"
    ),
    "truncate_bytes": FaultOption(4096, 1, 1e9, "file-truncate", "maximum number of bytes cut off"),
    "writes_a_second": FaultOption(20, 1, 1e6, "disk-slow", "writes"),
}
#: The type of a table of options, for files and their schemas.
OPTIONS_TABLE: Final = table(
    "FaultOptions",
    {
        name: _annotated[float, Meta(ge=option.least, le=option.most, description=f"{option.fault}: {option.meaning}")]
        for name, option in OPTIONS.items()
    },
)


def check_options(options: Mapping[str, float]) -> None:
    """Check the names and values of options.  Raises OptionError that names the option and how to correct it."""
    try:
        convert(dict(options), OPTIONS_TABLE)
    except ValueError as error:
        raise OptionError(str(error)) from None
