"""Jobs that turn what a run recorded into tables: operations, verdicts, windows, faults, probes.

Importing this package does not import pyspark.

===============  ======================================================================
``warehouse``    the tables of all runs: add, index and compare runs
``spark``        the tables of one run of any size, computed by Spark; sessions
``tables``       the tables of one run: how each is computed and written, without Spark
``tables_page``  ``docs/tables.md``, generated from the schemas
``errors``       the tree of exceptions
===============  ======================================================================
"""

from history.tables.warehouse import read_all
from pipeline.errors import JavaMissingError, JobError, PackageMissingError, PipelineError, SessionError
from pipeline.spark.large import run_tables
from pipeline.spark.session import start_session
from pipeline.spark.warm import WarmSession
from pipeline.tables.conclusions import source_of
from pipeline.tables.local import Tables, computed_tables, local_tables, store_tables
from pipeline.tables.storage import read_table
from pipeline.warehouse.index import append_run, refresh
from pipeline.warehouse.ingest import IngestResult, ingest
from pipeline.warehouse.trends import trend_table

__all__ = [
    "IngestResult",
    "JavaMissingError",
    "JobError",
    "PackageMissingError",
    "PipelineError",
    "SessionError",
    "Tables",
    "WarmSession",
    "append_run",
    "computed_tables",
    "ingest",
    "local_tables",
    "read_all",
    "read_table",
    "refresh",
    "run_tables",
    "source_of",
    "start_session",
    "store_tables",
    "trend_table",
]
