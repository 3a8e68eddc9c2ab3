"""Transactions as columns, for the checker of isolation levels.

================  =============================================================
``columns``       the columns, and their conversion from operations
``jsonl``         reads them from ``history.jsonl`` with ``jsonl_kernel``
================  =============================================================
"""

from history.readers.transactions.columns import TransactionColumns, columns_of_operations

__all__ = ["TransactionColumns", "columns_of_operations"]
