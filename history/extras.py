"""The optional parts of an installation, and the error raised when one of them is missing.

``pip install dledger-harness`` installs the checker of history files.  Each extra in ``pyproject.toml`` adds a part.
Its modules are imported only where they are used, so everything else works without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional part of the installation.

    ``about`` says what it is for.  ``modules`` are the modules it adds to those of the extras in ``includes``.
    ``otherwise`` is an alternative to installing it, appended to the error message.
    """

    about: str
    modules: tuple[str, ...]
    includes: tuple[str, ...] = ()
    otherwise: str = ""


EXTRAS: Final = {
    "fast": Extra("the compiled searches (of a large history, or of more than 400 operations)", ("numba",)),
    "report": Extra("the tables and pages of runs", ("jinja2", "markupsafe", "networkx", "pyarrow"), ("fast",)),
    "plots": Extra("the static plots", ("matplotlib",), ("report",)),
    "run": Extra("nodes and faults", ("cryptography", "paramiko"), ("report",)),
    "query": Extra("questions over the warehouse in SQL", ("duckdb",)),
    "spark": Extra(
        "Spark", ("pandas", "py4j", "pyspark"), ("report",), ", or leave it out: --no-spark, or spark = false in a file"
    ),
    "mariadb": Extra("the client of MariaDB", ("aiomysql", "pymysql"), ("run",)),
    "postgresql": Extra("the client of PostgreSQL", ("psycopg",), ("run",)),
    "zookeeper": Extra("the client of ZooKeeper", ("kazoo",), ("run",)),
}


def require(*extras: str) -> None:
    """Raise MissingExtraError for the first module of these extras that is not installed. Imports none of them."""
    for extra in extras:
        for module in modules_of(extra):
            if find_spec(module) is None:
                raise MissingExtraError(extra, module)


def modules_of(extra: str) -> tuple[str, ...]:
    """Return the modules of an extra, including those of the extras that it includes."""
    part = EXTRAS[extra]
    return (*(module for included in part.includes for module in modules_of(included)), *part.modules)


class MissingExtraError(ModuleNotFoundError):
    """A module of an extra is not installed.  The message names both and says how to install the extra."""

    def __init__(self, extra: str, module: str) -> None:
        part = EXTRAS[extra]
        mend = f"pip install 'dledger-harness[{extra}]'{part.otherwise}"
        super().__init__(f"this needs {part.about}, and {module} is not installed: {mend}", name=module)


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """Convert an import error into one that says which extra to install; None if no extra has the module."""
    if isinstance(error, MissingExtraError):
        return error
    module = (error.name or "").partition(".")[0]
    return next((MissingExtraError(name, module) for name, extra in EXTRAS.items() if module in extra.modules), None)
