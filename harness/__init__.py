"""The test harness: runs tests from plan to verdict, singly or as suites, from the command line.

=================================  ===========================================================================
``cli``                            the command line, with one file for each command
``suite``                          many runs with one combined verdict
``doctor``                         what this machine supports
``execution``                      one run: cluster, system, load, faults, probes, shutdown
``judge``                          from recorded data to a verdict: checks of the system, gates of the run
``clusters``                       where nodes come from: namespaces, an inventory, Vagrant
``systems``                        the systems that run on the nodes
``clients``                        newline-delimited JSON over TCP, for clients of several systems
``remote``                         commands and files on the nodes, over SSH
``workloads``                      which operations clients issue
``generators``                     the order of operations, as values that also run in virtual time
``testing``                        fakes for testing faults, workloads and clients
``runstate``                       ``run.json``: how far a run got
``jepsen_store``                   a directory of Jepsen's store: its history and Jepsen's own results
``store``, ``files``, ``options``  the run store, history files that users name, plan options in files
``file_report``                    the HTML page for a history file
``plan``, ``names``                the plan of a run, fixed before anything starts, and the name of its folder
``spark_choice``                   whether to judge through Spark or in this process
``spark_settings``                 Spark settings that users may give
``terminal``                       safe standard streams, and tables
``schemas``                        JSON Schemas for hand-written files, for use by editors
``exits``, ``errors``              exit codes, and failures of the harness itself
``start``, ``ownership``           the entry point of the command; which files root refuses to trust
=================================  ===========================================================================
"""
