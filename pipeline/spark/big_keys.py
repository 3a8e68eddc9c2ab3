"""Zones for keys with more operations than one machine holds: the same verdict as the checker's, computed by Spark.

The algorithm is that of ``checker.engines.zones`` (Gibbons and Korach 1997; Golab, Li and Shah 2011) in two steps that
need no task to see a whole key:

1. One aggregate for each (key, value): the invocation of the write, the least return ``first``, the greatest invocation
   ``last``.  A value that was read without being written, or before it was written, is a contradiction by itself.
2. A value with first < last must be current in between.  Two such zones must not overlap, and another value's [last,
   first] must not lie inside one.  So the question for each zone is whether the least ``first`` of all zones that begin
   after it comes before its ``last``. That is a running minimum, backwards over time.  Time is cut into ranges.  The
   minimum of each range is computed first, every range starts with the minimum of those after it (*carry*), and then
   each range runs by itself.

Values are compared by their canonical JSON, which is equal if and only if the checker considers the values equal.

This works only for registers with read and write, an initial value of null, and values that are written once.  For any
other key, ``reason`` says what was found; its verdict is unknown and left to another engine.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from checker import Register
from checker.core.calls import calls_of
from checker.core.result import Limits
from checker.core.scene import Scene
from checker.dispatch import decide
from checker.explain.explain import explain
from history import Counterexample, KeyVerdict, Operation
from history.codes import NEVER
from history.columns.events import key_of
from history.columns.operations import from_table
from history.columns.pairing import PLAIN_OPERATIONS
from history.records.events import load_json
from history.records.text import counted
from history.records.verdicts import MAX_COUNTEREXAMPLES, MAX_EXPLAINED, Verdict, count_kinds
from history.tables.operations import json_text
from history.tables.schemas import OPERATIONS
from pipeline.spark.actions import run_action
from pipeline.tables.judging import REGISTERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENGINE: Final = "zones-distributed"
_RANGES: Final = 64
_RANGE: Final = 1_000_000
#: The most seconds for explaining one violation.
_EXPLAIN_S: Final = 10.0

#: An unkeyed object gets the key '' here.  That is not JSON, so it cannot be the key of another object.
_CALLED: Final = """
SELECT coalesce(key, '') AS key, f, invoke_index AS invoked,
  CASE WHEN f = 'read' THEN result ELSE value END AS value,
  CASE WHEN outcome = 'ok' THEN return_index ELSE {never} END AS returned
FROM {operations} WHERE outcome = 'ok' OR (outcome = 'info' AND f <> 'read')
"""
_CALLS: Final = "key string, f string, invoked bigint, value string, returned bigint"

_ITEM: Final = "(null|0|-?[1-9][0-9]*)"
#: Matches texts that are already canonical, as nearly all values are.
CANONICAL: Final = rf'^({_ITEM}|true|false|"[^"\\]*"|\[\]|\[{_ITEM}(,{_ITEM})*\])$'

_CLUSTERS: Final = """
SELECT key, value, count(*) AS calls, count_if(f = 'write') AS writes, count_if(f NOT IN ('read', 'write')) AS strange,
  count_if(value IS NULL) AS odd,
  CASE WHEN value = 'null' THEN -1 ELSE min(CASE WHEN f = 'write' THEN invoked END) END AS written,
  CASE WHEN value = 'null' THEN -1 ELSE min(returned) END AS first,
  min_by(invoked, returned) AS first_at, max(invoked) AS last, max(CASE WHEN f = 'write' THEN returned END) AS done,
  max(CASE WHEN f = 'read' THEN invoked END) AS read_at
FROM {calls} GROUP BY key, value
"""

_KEYS: Final = """
SELECT key, sum(calls) AS calls, sum(strange) AS strange, sum(odd) AS odd, max(writes) AS writes,
  count_if(value = 'null' AND writes > 0) AS initial_written
FROM {clusters} GROUP BY key
"""

_CONFLICTS: Final = """
WITH sound AS (
  SELECT * FROM {clusters} WHERE written IS NOT NULL AND first <> {never} AND first >= written
), ranged AS (
  SELECT key, value, first, last, least(first, last) AS at, least(first, last) DIV {width} AS range
  FROM sound WHERE first <> last
), carried AS (
  SELECT key, range, min(min(struct(first, value))) OVER (
    PARTITION BY key ORDER BY range ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS carry
  FROM ranged GROUP BY key, range
), running AS (
  SELECT key, value, first, last, least(carry, min(struct(first, value)) OVER (
    PARTITION BY key, range ORDER BY at ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)) AS inner
  FROM ranged JOIN carried USING (key, range)
)
SELECT key, value AS outer, inner.value AS inner, inner.first AS at
FROM running WHERE first < last AND inner.first < last
"""

_VIOLATIONS: Final = """
WITH broken AS (
  SELECT key, value AS outer, value AS inner, first AS at FROM {clusters} WHERE written IS NULL OR first < written
  UNION ALL SELECT key, outer, inner, at FROM {conflicts}
), numbered AS (
  SELECT *, row_number() OVER (PARTITION BY key ORDER BY at, outer) AS number, count(*) OVER (PARTITION BY key) AS total
  FROM broken
)
SELECT numbered.key, number, total, written, first_at, last, read_at
FROM numbered JOIN {clusters} AS clusters
  ON clusters.key = numbered.key AND (clusters.value = numbered.outer OR clusters.value = numbered.inner)
WHERE number <= {shown}
"""

#: The operations that a sentence about a key may refer to: among the values that were read, the last one written and
#: a read of it; the final reads and the writes of what they returned; the last answer of every node.
_BESIDE: Final = """
SELECT key, inline(array(struct(max_by(written, done) AS at), struct(max_by(read_at, done) AS at)))
FROM {clusters} WHERE read_at IS NOT NULL AND written >= 0 GROUP BY key
UNION ALL
SELECT final.key, clusters.written AS at FROM {final} AS final JOIN {clusters} AS clusters
  ON clusters.key = final.key AND clusters.value = final.value WHERE clusters.written >= 0
UNION ALL SELECT key, at FROM {final}
UNION ALL
SELECT coalesce(key, '') AS key, max(invoke_index) AS at FROM {operations} WHERE outcome = 'ok' GROUP BY 1, node
"""
_FINAL: Final = """
SELECT coalesce(key, '') AS key, 'read' AS f, invoke_index AS invoked, result AS value, return_index AS returned
FROM {operations} WHERE phase = 'final' AND f = 'read' AND outcome = 'ok'
"""


def judge_big_keys(
    spark: SparkSession, operations: DataFrame, *, model: str = "register", ranges: int | None = None
) -> list[KeyVerdict]:
    """Return the verdict on every key of ``operations``, in order of the keys' texts.

    ``operations`` has the columns of ``operations.parquet``.  If ``model`` is not a register, every verdict is unknown.
    ``ranges`` is the number of pieces into which time is cut (by default, enough for a million places per piece).
    ``seconds`` of a verdict is the time that all keys took together.  Raises JobError.
    """
    began = time.monotonic()
    calls = spark.sql(_CALLED, operations=operations, never=NEVER).mapInArrow(_with_canonical_values, _CALLS)
    clusters = spark.sql(_CLUSTERS, calls=calls).persist()
    try:
        keys = run_action(spark.sql(_KEYS, clusters=clusters).collect)
        end = run_action(clusters.selectExpr("max(last) AS last").first)["last"]
        places = (end or 0) + 1
        width = places // (ranges or max(_RANGES, places // _RANGE)) + 1
        conflicts = spark.sql(_CONFLICTS, clusters=clusters, never=NEVER, width=width)
        broken = run_action(spark.sql(_VIOLATIONS, clusters=clusters, conflicts=conflicts, shown=MAX_EXPLAINED).collect)
        fit = {row.key for row in keys if _misfit(row, model) is None}
        beside: defaultdict[str, set[int]] = defaultdict(set)
        if any(row.key in fit for row in broken):
            final = spark.sql(_FINAL, operations=operations).mapInArrow(_with_canonical_values, _CALLS)
            final = final.withColumnRenamed("invoked", "at")
            near = spark.sql(_BESIDE, clusters=clusters, final=final, operations=operations)
            for row in run_action(near.collect):
                beside[row.key].add(row.at)
        shown = _counterexamples(operations, [row for row in broken if row.key in fit], beside)
    finally:
        clusters.unpersist()
    totals = {row.key: int(row.total) for row in broken}
    seconds = time.monotonic() - began
    return [
        _verdict(row, model, totals.get(row.key, 0), shown[row.key], seconds)
        for row in sorted(keys, key=lambda row: row.key)
    ]


def _with_canonical_values(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        values = batch["value"]
        plain = pc.match_substring_regex(values, CANONICAL)
        if plain.true_count < len(values):
            texts = [canonical(text) for text in values.filter(pc.invert(plain)).to_pylist()]
            values = pc.replace_with_mask(values, pc.invert(plain), pa.array(texts, pa.string()))
        yield batch.set_column(batch.schema.get_field_index("value"), "value", values)


def canonical(text: str) -> str | None:
    """Return the text that stands for all values that the checker considers equal; None if ``text`` is not JSON."""
    try:
        return json_text(_canonical(load_json(text)))
    except (ValueError, RecursionError):
        return None


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {name: _canonical(value[name]) for name in sorted(value)}
    return value


def _misfit(row: Any, model: str) -> str | None:
    """Return why zones do not apply to a key, or None if they do."""
    if model not in REGISTERS:
        return f"{row.calls} operations on one object are too many for the engines of a {model}"
    if row.strange:
        return f"{counted(row.strange, 'operation')} {'is' if row.strange == 1 else 'are'} neither read nor write"
    if row.odd:
        return f"{row.odd} values are not JSON"
    if row.initial_written:
        return "the initial value was written"
    return f"a value was written {row.writes} times" if row.writes > 1 else None


def _verdict(row: Any, model: str, violations: int, examples: tuple[Counterexample, ...], seconds: float) -> KeyVerdict:
    key, calls, reason = key_of(row.key or None), int(row.calls), _misfit(row, model)
    if reason is not None:
        return KeyVerdict(key, "unknown", ENGINE, calls, seconds, reason=reason)
    kinds = count_kinds(((example.kind, example.completed_at) for example in examples), violations)
    verdict: Verdict = "invalid" if violations else "valid"
    shown = examples[:MAX_COUNTEREXAMPLES]
    return KeyVerdict(key, verdict, ENGINE, calls, seconds, violations, shown, kinds=kinds)


def _counterexamples(
    operations: DataFrame, broken: list[Any], beside: defaultdict[str, set[int]]
) -> defaultdict[str, tuple[Counterexample, ...]]:
    """Check the few operations that carry each violation and return counterexamples, which may name ``beside``."""
    cores: dict[tuple[str, int], set[int]] = defaultdict(set)
    for row in broken:
        cores[row.key, row.number] |= {row.first_at, row.last} | ({row.written} - {None, -1})
        beside[row.key] |= {row.read_at} - {None}
    shown: defaultdict[str, tuple[Counterexample, ...]] = defaultdict(tuple)
    if not cores:
        return shown
    wanted = sorted(set().union(*cores.values(), *beside.values()))
    rows = run_action(operations.where(operations["invoke_index"].isin(wanted)).select(*OPERATIONS.names).toArrow)
    by_index = {operation.invoke_index: operation for operation in from_table(rows.cast(PLAIN_OPERATIONS))}
    for (key, _), core in sorted(cores.items()):
        shown[key] += _explain(core, [by_index[index] for index in sorted(core | beside[key])])
    return shown


def _explain(core: set[int], operations: list[Operation]) -> tuple[Counterexample, ...]:
    """Explain the violation of the core, given by places in the history, in the scene of these operations."""
    now = time.monotonic()
    model, limits = Register(), Limits(time.monotonic, now + _EXPLAIN_S, started=now)
    calls = [call for call in calls_of(operations, model) if call.invoke in core]
    scene = Scene(operations, model, operations[0].key)
    return explain(decide(calls, model, limits), calls, scene, limits).examples[:1]
