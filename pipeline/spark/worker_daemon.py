"""The process from which Spark forks its Python workers, with the slow imports already done.

A worker that has to import Arrow, pandas and the checker first costs more than a second, and Spark ends workers that
had nothing to do for a minute, which is what happens while a run goes on.  Spark starts this module by its name
(``spark.python.daemon.module``); what it forks must not have threads, so the native libraries are configured to
start none.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import pandas  # noqa: E402, F401
import pyarrow.compute  # noqa: E402
import pyarrow.parquet  # noqa: E402, F401
import pyspark.sql.pandas.serializers  # noqa: E402
import pyspark.worker  # noqa: E402, F401
from pyspark.daemon import manager  # noqa: E402

if __name__ == "__main__":
    manager()
