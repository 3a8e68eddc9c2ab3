"""How random tests draw: the same examples in every run, fresh ones where HYPOTHESIS_PROFILE=nightly asks for them.

A failing example is printed as it was drawn, to be kept with ``@example``; fresh ones also print a blob that
``@reproduce_failure`` takes.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("default", derandomize=True, database=None, deadline=None)
settings.register_profile("nightly", derandomize=False, database=None, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
