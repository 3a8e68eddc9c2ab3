"""Readers of other tools' histories, and readers of our own as columns.

A foreign format is parsed into *records*: maps with Jepsen's names for the fields.  One set of conventions turns
records into events, and one pairing turns events into operations.

==================  =======================================================================================
module              purpose
==================  =======================================================================================
``read``            reads any history, also gzipped; ``formats`` lists the foreign formats and detects them
``edn``             reads Jepsen's ``history.edn`` and porcupine's key-value logs
``jepsen_log``      reads Jepsen's logs and ``history.txt``: ``3 :invoke :write 2``
``jepsen_blocks``   reads Jepsen's ``test.jepsen``, whose values ``fressian`` decodes
``etcd_operations`` reads operations from etcd's robustness tests
``json_records``    reads JSON from other tools, and ``csv_records`` tables: events or whole operations
``otlp_spans``      reads OpenTelemetry spans of database calls
``records``         the records that all of these produce; ``mapping`` renames their fields to ours, and ``intervals``
                    turns whole operations into events
``jepsen_events``   turns records into events, by Jepsen's conventions
``nemesis``         turns what another tool's nemesis did into faults
``porcupine_kv``    checks the events of porcupine's key-value logs
``text_columns``    reads EDN and logs line by line, for millions of operations
``parquet``         reads our ``tables/operations.parquet``
``convert``         converts foreign formats to our ``history.jsonl``, in pieces
``jsonl_columns``   reads our ``history.jsonl`` as numpy columns, for millions of operations
``columns``         defines these columns; ``scanned`` makes them from the rows that the compiled scanners
                    ``jsonl_kernel`` and ``text_kernel`` produce
``transactions``    transactions as columns, for checking isolation levels
==================  =======================================================================================
"""

from history.readers.columns import OperationColumns
from history.readers.read import Foreign, read_any

__all__ = ["Foreign", "OperationColumns", "read_any"]
