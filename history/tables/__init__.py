"""The Parquet tables: schemas, versions, and the files over all runs."""
