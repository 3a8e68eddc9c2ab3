"""Events to operations on Spark: each completion belongs to the invocation before it of the same process."""

from __future__ import annotations

from typing import Final

PAIRING: Final = """
WITH neighbours AS (
  SELECT *,
    lag(struct(index, type, f, key, value)) OVER process_order AS before,
    lead(struct(index, time, type, value, node, error)) OVER process_order AS after
  FROM {events} WHERE process IS NOT NULL
  WINDOW process_order AS (PARTITION BY process ORDER BY index)
), checked AS (
  SELECT *,
    CASE
      WHEN type = 'invoke' AND before.type = 'invoke'
        THEN concat('process ', process, ' has an open operation, invoked at line ', before.index + 2)
      WHEN type <> 'invoke' AND (before IS NULL OR before.type <> 'invoke')
        THEN concat('process ', process, ' completes what it never invoked')
      WHEN type <> 'invoke' AND NOT (before.f <=> f AND before.key <=> key)
        THEN concat('completes ', f, ' of ', coalesce(key, 'nothing'), ', but ',
                    before.f, ' of ', coalesce(before.key, 'nothing'), ' was invoked')
      WHEN type = 'ok' AND value NOT IN ('null', before.value) AND (
          f IN ('write', 'add', 'put') OR (f = 'append' AND value LIKE '"%' AND before.value LIKE '"%')
          OR (f = 'cas' AND NOT (startswith(value, concat(left(before.value, len(before.value) - 1), ','))
                                 AND coalesce(json_array_length(value), 0) = 3)))
        THEN concat('a ', f, ' of ', before.value, ' was invoked, and cannot end as one of ', value)
    END AS problem,
    coalesce(after.type, 'info') AS outcome
  FROM neighbours
)
SELECT index AS invoke_index, after.index AS return_index, process, f, key, value,
  CASE WHEN outcome = 'ok' THEN after.value END AS result, outcome,
  time AS invoked, after.time AS returned, coalesce(nullif(after.node, ''), node) AS node,
  after.error AS error, phase, problem
FROM checked WHERE type = 'invoke' OR problem IS NOT NULL
"""
"""Events to operations.  The ``problem`` of a row is what ``history.pair`` would refuse at its ``invoke_index``."""
