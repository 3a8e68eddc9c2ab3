"""Runs a test from its plan to its verdict, one after the other or as a suite, from the command line.

=================================  ===========================================================================
``cli``                            the command line: one file a verb
``suite``                          many runs as one, with one verdict over all
``doctor``                         what this machine can do for the harness
``execution``                      one run: cluster, system, load, faults, probes, its end
``judge``                          from what was recorded to a verdict: checks of the system, gates of the run
``clusters``                       where nodes come from: namespaces, an inventory, Vagrant
``systems``                        what runs on the nodes
``clients``                        how operations reach the system, and what its answers prove
``remote``                         commands and files on the nodes, over SSH
``workloads``                      what clients ask of the system
``generators``                     when they ask it
``runstate``                       ``run.json``: how far a run came
``store``, ``files``, ``options``  the run store, history files that users name, options in files
``plan``                           what is to be run, frozen before anything starts
``terminal``                       streams that people read, made safe
``schemas``                        JSON Schemas of the files that people write, for editors
``exits``, ``errors``              how the command line ends, and what can go wrong with the harness itself
=================================  ===========================================================================
"""
