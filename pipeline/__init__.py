"""The jobs that turn what a run recorded into tables: operations, verdicts, windows, faults, probes.

=================  =========================================================================
module             subject
=================  =========================================================================
``session``        starting Spark quietly
``shipping``       what a real cluster needs beyond that
``warm``           starting it in the background while the run goes on
``worker_daemon``  what Spark forks its Python workers from
``jobs``           the tables of one run, on Spark
``actions``        running Spark actions, with one kind of exception
``local``          the same without Spark
``sources``        what a run recorded
``columns``        events and operations as Arrow columns
``judging``        one key's operations to its verdict
``windows``        operations to rates and latencies by second
``recovery``       the table of faults, with the figures that ``history.metrics.recovery`` defines
``counting``       counts for the gates
``load_figures``   rate, unavailability and latency of a run of any length
``storage``        Parquet on disk, never half a table
``tables``         what a job hands back
``run_row``        a run as one row, to be compared with others
``warehouse``      the tables of all runs
``index``          the rows of all runs in one file, and their trends
``ingest``         many runs into the warehouse
``trends``         how runs of one kind went over time, and regressions
``big_keys``       verdicts on keys that no machine holds, by distributed zones
``errors``         the tree of exceptions
=================  =========================================================================

Importing this package does not import pyspark.
"""

from pipeline.errors import JavaMissingError, JobError, PipelineError, SessionError
from pipeline.spark.jobs import run_tables
from pipeline.spark.session import start_session
from pipeline.spark.warm import WarmSession
from pipeline.tables.local import local_tables
from pipeline.tables.run_tables import Tables
from pipeline.tables.storage import read_table
from pipeline.warehouse.index import append_run, refresh
from pipeline.warehouse.ingest import Outcome, ingest
from pipeline.warehouse.tables import read_all
from pipeline.warehouse.trends import trend_table

__all__ = [
    "JavaMissingError",
    "JobError",
    "Outcome",
    "PipelineError",
    "SessionError",
    "Tables",
    "WarmSession",
    "append_run",
    "ingest",
    "local_tables",
    "read_all",
    "read_table",
    "refresh",
    "run_tables",
    "start_session",
    "trend_table",
]
