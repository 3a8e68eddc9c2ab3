"""The process from which Spark forks its Python workers, with the slow imports already done.

A worker that must first import Arrow and the checker takes more than a second to start, and Spark ends workers that are
idle for a minute, as they are during a run.  Spark starts this module by name (``spark.python.daemon.module``).  It
must have no threads, so Spark sets OMP_NUM_THREADS.
"""

from __future__ import annotations

import pyarrow.compute
import pyarrow.parquet  # noqa: F401
import pyspark.sql.pandas.serializers
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

from history.no_pandas import hide_pandas_once

if __name__ == "__main__":
    hide_pandas_once()
    manager()
