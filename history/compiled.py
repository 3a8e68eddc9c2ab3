"""Compile with numba, and keep the machine code beside the source for as long as none of our compiled code changes.

numba's own cache looks at the file of a function alone.  It would go on with old machine code when a function in
another file, which was compiled into it, or a constant from elsewhere has changed.  Importing this module imports
numba, which takes 0.3 s.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from numba import njit

_ROOT: Final = Path(__file__).resolve().parents[1]
_SOURCES: Final = ("history/codes.py", "history/readers/*_kernel.py", "checker/kernels/*.py")


def digest(root: Path = _ROOT) -> str:
    """Of everything that is compiled: names and contents."""
    found = hashlib.sha256()
    for path in sorted(path for pattern in _SOURCES for path in root.glob(pattern)):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


_DIGEST: Final = digest()
_STAMP: Final = "_source_stamp"


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at the first call with new types of arguments, or load what was compiled then."""
    dispatcher = njit(cache=True)(function)
    # numba has no public way to say what a cache depends on; without the attribute it is as careful as numba is.
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(file, _STAMP):
        vars(file)[_STAMP] = (vars(file)[_STAMP], _DIGEST)
    return dispatcher
