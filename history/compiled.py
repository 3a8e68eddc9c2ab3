"""Compile functions with numba, and cache the machine code until any of our compiled functions changes.

numba's own cache depends only on the file that defines a function.  It would keep using old machine code after a
change to an inlined function or a constant from another file.  Importing this module imports numba, which takes 0.3 s.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from history.loading_clock import WORKING_TIME
from history.safe_open import require_plain_if_any

# numba reads settings that the environment lacks from .numba_config.yaml in the working directory.  These two settings
# lead to code execution: files in the cache directory are unpickled, and locator classes are imported.
require_plain_if_any(Path(".numba_config.yaml"))
os.environ.setdefault("NUMBA_CACHE_DIR", "")
os.environ.setdefault("NUMBA_CACHE_LOCATOR_CLASSES", "")

WORKING_TIME.begin()
try:
    from numba import njit
    from numba.core import event
finally:
    WORKING_TIME.end()  # also where numba is not installed

log = logging.getLogger("history.compiled")

_ROOT: Final = Path(__file__).resolve().parents[1]
_SOURCES: Final = ("history/codes.py", "history/compiled.py", "history/readers/**/*_kernel.py", "checker/kernels/*.py")


def digest(root: Path = _ROOT) -> str:
    """Return a hash of the names and contents of all files with compiled code."""
    hasher = hashlib.sha256()
    for path in sorted(path for pattern in _SOURCES for path in root.glob(pattern)):
        hasher.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()


_DIGEST: Final = digest()
_VERSION: Final = "_version"
# numba's type stubs lack the option that disables reference counting and those that leave wrappers out.
_njit: Any = njit
_INNER: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Loading(event.Listener):
    """Stop the clock of deadlines while numba compiles or loads a function, and those compiled into it."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        WORKING_TIME.begin()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        WORKING_TIME.end()


_register: Any = event.register  # which has no types
_register("numba:compiler_lock", _Loading())

# glibc returns freed memory to the kernel, which hands it out again page by page and cleared: this doubled the time of
# a check of 10,000 operations.  Freeing one array of this size, even one that was never written to, raises the amount
# of memory that glibc keeps (mallopt(3), M_MMAP_THRESHOLD).
np.empty(31 << 20, np.int8)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call with new argument types, or load the machine code from the cache."""
    return _cached(function)


def compiled_apart(function: Callable[..., Any]) -> Any:
    """Compile like :func:`compiled`.  Threads can run the function at the same time."""
    return _cached(function, nogil=True)


def compiled_loop(function: Callable[..., Any]) -> Any:
    """Compile like :func:`compiled`, without reference counting.  The function must not create arrays."""
    return _cached(function, _nrt=False)


def step(function: Callable[..., Any]) -> Any:
    """Inline a function into each compiled function that calls it.  It must not create arrays.

    Without inlining, counting references to a structure of twenty arrays would cost more than the step itself.
    """
    return _njit(forceinline=True, _nrt=False, **_INNER)(function)


def compiled_part(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled functions call, without a Python wrapper.  It may create arrays."""
    return _njit(**_INNER)(function)


def _cached(function: Callable[..., Any], **options: bool) -> Any:
    try:
        dispatcher = _njit(cache=True, no_cfunc_wrapper=True, **options)(function)
    except RuntimeError:  # numba found no directory that it may write to
        _warn_once()
        return _njit(no_cfunc_wrapper=True, **options)(function)
    # numba has no public way to add a dependency to a cache.  Without this attribute, numba's own check remains.
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, _VERSION):
        # numba compares the version before it unpickles the rest, which may refer to modules that no longer exist.
        vars(file)[_VERSION] = (vars(file)[_VERSION], _DIGEST)
        file.save = _unless_full(file.save)
    return dispatcher


@cache
def _warn_once() -> None:
    log.warning("checking starts slowly, as compiled code cannot be saved: set NUMBA_CACHE_DIR to a writable directory")


def _unless_full(save: Callable[..., None]) -> Callable[..., None]:
    """Ignore OSError from ``save``: compiled code works even if it cannot be cached."""

    def attempt(*arguments: Any) -> None:
        with suppress(OSError):
            save(*arguments)

    return attempt
