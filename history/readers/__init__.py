"""Histories from elsewhere, and our own by columns.

==================  =======================================================================================
module              reads
==================  =======================================================================================
``read``            any of them; ``formats`` detects which
``edn``             Jepsen's ``history.edn``
``jepsen_log``      Jepsen's console log and knossos' text format: ``3 :invoke :write 2``
``porcupine_kv``    porcupine's key-value test format
``text_columns``    those three by their lines, for millions of operations
``parquet``         our ``tables/operations.parquet``
``convert``         those of others as our ``history.jsonl``, in pieces
``jsonl_columns``   our ``history.jsonl`` as numpy columns, for histories of millions of operations
``columns``         what the columns are; ``scanned``: operations from what the compiled scanners read, which are
                    ``jsonl_kernel`` and ``text_kernel``
``transactions``    transactions as columns, for the isolation levels
``jepsen_events``   what Jepsen's two formats share
==================  =======================================================================================
"""

from history.readers.columns import OperationColumns
from history.readers.read import Foreign, read_any

__all__ = ["Foreign", "OperationColumns", "read_any"]
