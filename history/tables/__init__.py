"""The Parquet tables: their schemas and versions, and the warehouse with the tables of all runs."""
