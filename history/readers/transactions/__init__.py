"""Transactions as columns: what the checker of isolation levels reads.

================  =============================================================
``columns``       the columns, and how operations become them
``jsonl``         from ``history.jsonl``, by the compiled ``jsonl_kernel``
================  =============================================================
"""

from history.readers.transactions.columns import TransactionColumns, columns_of_operations

__all__ = ["TransactionColumns", "columns_of_operations"]
