"""Requests to a controller: codes, headers, and the brokers in whose name they are sent.

The codes are those of RocketMQ's ``RequestCode`` and ``ResponseCode``.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any, Final

from harness.systems.api import Setup
from harness.systems.remoting import Answer

PORT: Final = 9878
CLUSTER: Final = "harness"
#: The numbers of the brokers in a set.
IDS: Final = (1, 2, 3)

HEARTBEAT: Final = 904
ALTER: Final = 1001
ELECT: Final = 1002
REGISTER: Final = 1003
REPLICA_INFO: Final = 1004
METADATA: Final = 1005
APPLY_BROKER_ID: Final = 1013

OK: Final = 0
NOT_LEADER: Final = 2007
MASTER_STILL_EXISTS: Final = 2011


def set_names(setup: Setup) -> tuple[str, ...]:
    """Return the names of the broker sets, which are the keys of the workload."""
    return tuple(f"broker-{number}" for number in range(int(setup.options["broker_sets"])))


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker of a set.  It exists only in the requests about it."""

    name: str
    number: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{10_000 + self.number}"

    def application(self) -> dict[str, object]:
        """Return the fields of an application for the broker's number.

        It may be sent repeatedly, because the check code stays the same.
        """
        return {"clusterName": CLUSTER, "brokerName": self.name, "appliedBrokerId": self.number,
                "registerCheckCode": f"{self.address};0"}  # fmt: skip

    def heartbeat(self, timeout_ms: int) -> dict[str, object]:
        return {"clusterName": CLUSTER, "brokerAddr": self.address, "brokerName": self.name, "brokerId": self.number,
                "epoch": 0, "maxOffset": 0, "confirmOffset": 0, "heartbeatTimeoutMills": timeout_ms,
                "electionPriority": self.number}  # fmt: skip


def brokers_of(setup: Setup) -> list[Broker]:
    return [Broker(name, number) for name in set_names(setup) for number in IDS]


def answers_from_memory(setup: Setup) -> bool:
    """Return whether requests that change nothing are answered from one controller's memory, without a log entry."""
    return setup.options["mode"] == "dledger" and setup.options["reads"] == "local"


def request(f: str, name: str, value: Any) -> tuple[int, dict[str, object], object]:
    """Return code, header and body of an operation on a broker set."""
    now = {"invokeTime": time.time_ns() // 1_000_000}
    if f in ("read", "peek"):
        return REPLICA_INFO, {"brokerName": name}, None
    if f == "alter":
        master, master_epoch, epoch, members = value
        header = {"brokerName": name, "masterBrokerId": master, "masterEpoch": master_epoch, **now}
        return ALTER, header, {"syncStateSet": members, "syncStateSetEpoch": epoch}
    header = {"clusterName": CLUSTER, "brokerName": name, "brokerId": value, **now}
    if f == "elect":
        return ELECT, {**header, "designateElect": True}, None
    return REGISTER, {**header, "brokerAddress": Broker(name, value).address}, None


def state_in(answer: Answer) -> list[Any]:
    """Return the master, its epoch, the members in sync and their epoch.

    Without a master, the master and its epoch are None.  The body is not always JSON, because some of its objects have
    numbers as keys.  Raises ValueError if something is missing.
    """
    body = answer.body.decode()
    members = re.search(r'"syncStateSet":\[([0-9,]*)\]', body)
    epoch = re.search(r'"syncStateSetEpoch":(\d+)', body)
    set_epoch = epoch[1] if epoch else answer.ext.get("syncStateSetEpoch")
    if members is None or set_epoch is None:
        raise ValueError(f"an answer without a set or its epoch: {body[:200]}")
    numbers = sorted(int(number) for number in members[1].split(",") if number)
    master, master_epoch = (answer.ext.get(name) for name in ("masterBrokerId", "masterEpoch"))
    return [_number(master), _number(master_epoch), numbers, int(set_epoch)]


def _number(text: str | None) -> int | None:
    return None if text in (None, "null") else int(text or "")
