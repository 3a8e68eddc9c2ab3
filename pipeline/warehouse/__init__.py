"""The tables of all runs.

============  =====================================================================================================
``ingest``    adds many runs, each on its own; ``staging`` presents any history as a run, ``remote`` those in URIs
``landing``   adds a run's finished tables
``versions``  versions of all tables, which appear at once
``index``     puts landings into a version;  ``trends``: the table of trends
``ask``       questions about the events of all runs, as SQL
============  =====================================================================================================
"""
