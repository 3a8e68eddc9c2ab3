"""Shared by databases that speak SQL: statements of each operation, workloads, a check of acknowledged appends.

================  =====================================================================================
``statements``    the tables, and the statements of each operation, in the words of a dialect
``workloads``     transactions, and objects of one row
``store``         how the files are made, and who owns them
``acknowledged`` checks that acknowledged appends survive
================  =====================================================================================
"""
