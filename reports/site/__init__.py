"""The pages over many runs.

============  ================================================================================================
``site``      the pages, as text or as static files; ``coverage``: faults by system and workload
``subjects``  faults, systems and known defects, each with a rate over time
``live``      the run that is under way, read as its files grow
``serve``     the site of a store, for a browser on this machine
============  ================================================================================================
"""
