"""``harness check``: judge a recorded run again."""

from __future__ import annotations

from pathlib import Path

import click

from harness.progress import Progress


@click.command("check")
@click.argument("run_path", metavar="RUN")
@click.option("--spark/--no-spark", default=True, help="Through Spark, or in this process with the same functions.")
@click.option("--spark-master", default="local[*]", help="Where the pipeline's jobs run.")
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), default=Path("store"), help="The run store.")
def check(run_path: str, spark: bool, spark_master: str, store: Path) -> int:
    """Judge RUN (a run's directory, or `latest`) again from its recorded files; writes tables and results anew."""
    from harness.conclude import conclude
    from harness.run import exit_code
    from harness.store import find_run
    from pipeline import WarmSession

    files = find_run(run_path, store)
    session = WarmSession(spark_master, app="harness check") if spark else None
    try:
        results = conclude(files, session.get if session else None)
    finally:
        if session is not None:
            session.stop()
    Progress().say(files.summary.read_text().rstrip())
    return exit_code(results)
