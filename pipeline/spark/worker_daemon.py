"""The process from which Spark forks its Python workers, with the slow imports already done.

A worker that has to import Arrow and the checker first costs more than a second, and Spark ends workers that
had nothing to do for a minute, which is what happens while a run goes on.  Spark starts this module by its name
(``spark.python.daemon.module``).  It must have no threads: Spark sets OMP_NUM_THREADS.
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
