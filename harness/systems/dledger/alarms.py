"""Lines of the library's log that have a meaning."""

from __future__ import annotations

from typing import Final

from harness.systems.api import Alarm
from harness.systems.jvm import OUT_OF_MEMORY
from history.records.log_words import LogWords

_LOST_JAR: Final = "the server's program was damaged or lost on its node"

ALARMS: Final = (
    Alarm(
        pattern="truncate for data file error", meaning="a data file was destroyed while truncating",
        follows="violation",
    ),
    Alarm(
        pattern="Fail to recover state machine", meaning="the state machine could not be recovered",
        follows="violation",
    ),
    Alarm(pattern="[BUG]", meaning="the library met a state that it reports as a bug", follows="note"),
    Alarm(
        pattern="Apply task exception", meaning="applying committed entries failed and was retried",
        follows="note",
    ),
    Alarm(
        pattern="IllegalAccessError", meaning="the JVM was started without an option that opens a module: the setup "
            "is wrong", follows="harness"
    ),
    OUT_OF_MEMORY,
    Alarm(pattern="Invalid or corrupt jarfile", meaning=_LOST_JAR, follows="harness"),
    Alarm(pattern="Unable to access jarfile", meaning=_LOST_JAR, follows="harness"),
)  # fmt: skip

#: ``replication`` matches a dispatcher, which serves one follower, when it starts to compare, truncate or send a
#: snapshot.
LOG_WORDS: Final = LogWords(
    noise=r"Complete closure|advance failed, status=Status\{code=\S*SUCCESS|Compare data to index failed",
    milestones=r"ChangeRole|VOTE_RESULT|INCREASE_TERM|HeartBeatTimeOut|TRUNCATE|PushFallBehind|\[BUG\]",
    replication=r"\[Push-[^\]]+\].*(?:[Cc]hange state|COMPARE|TRUNCATE|INSTALL_SNAPSHOT)",
)
