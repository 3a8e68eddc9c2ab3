"""Histories from elsewhere, and our own by columns.

A foreign format is parsed into *records*, maps with Jepsen's names for the fields; one set of conventions makes events
of these, and one pairing makes operations of events.

==================  =======================================================================================
module              reads
==================  =======================================================================================
``read``            any of them, also gzipped; ``formats`` lists the foreign ones and detects which it is
``edn``             Jepsen's ``history.edn``, and porcupine's key-value logs
``jepsen_log``      Jepsen's logs and ``history.txt``: ``3 :invoke :write 2``
``jepsen_blocks``   Jepsen's ``test.jepsen``, whose values are ``fressian``
``etcd_operations`` what etcd's robustness tests record
``json_records``    JSON of other tools, and ``csv_records`` tables: events, or whole operations
``otlp_spans``      OpenTelemetry's spans of database calls
``records``         the form that all of these are parsed into; ``mapping`` gives fields our names, ``intervals`` makes
                    events of whole operations
``jepsen_events``   conventions: from records to events
``nemesis``         what another tool's nemesis did, as faults
``porcupine_kv``    what a key-value log of porcupine's may hold
``text_columns``    EDN and logs by their lines, for millions of operations
``parquet``         our ``tables/operations.parquet``
``convert``         those of others as our ``history.jsonl``, in pieces
``jsonl_columns``   our ``history.jsonl`` as numpy columns, for histories of millions of operations
``columns``         what the columns are; ``scanned``: operations from what the compiled scanners read, which are
                    ``jsonl_kernel`` and ``text_kernel``
``transactions``    transactions as columns, for the isolation levels
==================  =======================================================================================
"""

from history.readers.columns import OperationColumns
from history.readers.read import Foreign, read_any

__all__ = ["Foreign", "OperationColumns", "read_any"]
