"""Spark settings that a user may give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from harness.errors import UsageError

MASTER_HELP: Final = "The Spark master that runs the pipeline's jobs."
CONF_HELP: Final = "A Spark setting, which overrides spark-defaults.conf; repeatable."
#: Names of secrets: the names that Spark redacts in its own pages, and the keys of Azure accounts.
_SECRET: Final = re.compile(r"(?i)secret|password|token|access[.]?key|account[.]?key")


def require_recordable(conf: Mapping[str, str]) -> None:
    """Check that a plan may record the settings: they must be Spark settings and contain no secrets.

    Raises UsageError.
    """
    require_settings(conf)
    for name in conf:
        if _SECRET.search(name) and not name.endswith(".provider"):
            raise UsageError(
                f"--spark-conf {name} is a secret, and plans are stored: put it in spark-defaults.conf, or in the "
                f"environment that its file system reads"
            )


def require_settings(conf: Mapping[str, str]) -> None:
    """Check that each setting is one of Spark's and may be set here.  Raises UsageError."""
    for name, text in conf.items():
        if not name.startswith("spark.") or "\n" in text:
            raise UsageError(
                f"--spark-conf {name}: a setting begins with spark. and fits on one line (those of Hadoop's file "
                f"systems "
                "begin with spark.hadoop.)"
            )
        if name == "spark.master":
            raise UsageError(f"--spark-conf {name}: use --spark-master {text} instead")
