"""Compile with numba, and keep the machine code beside the source for as long as none of our compiled code changes.

numba's own cache looks at the file of a function alone.  It would go on with old machine code when a function in
another file, which was compiled into it, or a constant from elsewhere has changed.  Importing this module imports
numba, which takes 0.3 s.
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

from history.safe_open import require_plain_if_any

# numba takes from a file of the working directory (.numba_config.yaml) what the environment does not set, and these two
# name code: what is kept there is unpickled, and imported.
require_plain_if_any(Path(".numba_config.yaml"))
os.environ.setdefault("NUMBA_CACHE_DIR", "")
os.environ.setdefault("NUMBA_CACHE_LOCATOR_CLASSES", "")

from numba import njit  # noqa: E402

log = logging.getLogger("history.compiled")

_ROOT: Final = Path(__file__).resolve().parents[1]
_SOURCES: Final = ("history/codes.py", "history/compiled.py", "history/readers/**/*_kernel.py", "checker/kernels/*.py")


def digest(root: Path = _ROOT) -> str:
    """Hash the names and contents of all files with compiled code."""
    found = hashlib.sha256()
    for path in sorted(path for pattern in _SOURCES for path in root.glob(pattern)):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


_DIGEST: Final = digest()
_VERSION: Final = "_version"
# numba's types know neither the option that leaves references uncounted nor those that leave wrappers out.
_njit: Any = njit
_INNER: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# glibc returns freed memory to the kernel, which hands it out again cleared and page by page: this doubled the time of
# a check of 10,000 operations.  After an array of this size was freed, even one that was never written to, glibc keeps
# as much (mallopt(3), M_MMAP_THRESHOLD).
np.empty(31 << 20, np.int8)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at the first call with new types of arguments, or load what was compiled then."""
    return _cached(function)


def compiled_loop(function: Callable[..., Any]) -> Any:
    """Compile as :func:`compiled` does, for a function that makes no arrays: references are not counted."""
    return _cached(function, _nrt=False)


def step(function: Callable[..., Any]) -> Any:
    """Compile into each function that calls it, as if it were written there; it must not make arrays either.

    Counting references to a structure of twenty arrays at each step would cost more than the step.
    """
    return _njit(forceinline=True, _nrt=False, **_INNER)(function)


def compiled_part(function: Callable[..., Any]) -> Any:
    """Compile for the compiled functions that call it alone, which saves the way in from Python; it may make arrays."""
    return _njit(**_INNER)(function)


def _cached(function: Callable[..., Any], **options: bool) -> Any:
    try:
        dispatcher = _njit(cache=True, no_cfunc_wrapper=True, **options)(function)
    except RuntimeError:  # numba found no directory that it may write to
        _warn_once()
        return _njit(no_cfunc_wrapper=True, **options)(function)
    # numba has no public way to say what a cache depends on; without the attribute it is as careful as numba is.
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, _VERSION):
        # The version is compared before anything is unpickled, which may name modules that are gone.
        vars(file)[_VERSION] = (vars(file)[_VERSION], _DIGEST)
        file.save = _unless_full(file.save)
    return dispatcher


@cache
def _warn_once() -> None:
    log.warning("checking starts slowly, as nothing compiled can be kept: name a directory with NUMBA_CACHE_DIR")


def _unless_full(save: Callable[..., None]) -> Callable[..., None]:
    """What is compiled works also where it cannot be kept."""

    def attempt(*what: Any) -> None:
        with suppress(OSError):
            save(*what)

    return attempt
