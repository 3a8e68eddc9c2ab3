"""The test harness: runs tests from plan to verdict, one by one or as suites, from the command line.

=================================  ===========================================================================
``cli``                            the command line: one file a verb
``suite``                          many runs as one, with one verdict over all
``doctor``                         what this machine can do for the harness
``execution``                      one run: cluster, system, load, faults, probes, its end
``judge``                          from the recorded data to a verdict: checks of the system, gates of the run
``clusters``                       where nodes come from: namespaces, an inventory, Vagrant
``systems``                        what runs on the nodes
``clients``                        lines of JSON over TCP, as clients of systems speak them
``remote``                         commands and files on the nodes, over SSH
``workloads``                      which operations clients issue
``generators``                     which comes when, as values that also run in virtual time
``testing``                        fakes for tests of faults, workloads and clients
``runstate``                       ``run.json``: how far a run came
``jepsen_store``                   a directory of Jepsen's store: its history, and what Jepsen said of it
``store``, ``files``, ``options``  the run store, history files that users name, options in files
``file_report``                    the page of a history file
``plan``, ``names``                the plan of a run, fixed before anything starts, and the name of its folder
``spark_choice``                   what is judged through Spark, and what in this process
``spark_settings``                 settings of Spark that a user may give
``terminal``                       safe standard streams, and tables
``schemas``                        JSON Schemas of the files that people write, for editors
``exits``, ``errors``              exit codes, and the failures of the harness itself
``start``, ``ownership``           the first module of the command; what root takes from a directory of others
=================================  ===========================================================================
"""
