"""The faults, one file a subject.

==============  =======================================================================================================
``registry``    all of them by name
``partitions``  nodes that drop packets from others; ``targeted_partitions``: from the leader, one-way, gradual
``traffic``     links that lose packets or are slow; ``delay``: late, reordered, twice, by ``queue_helper`` on the node
``processes``   killed and paused; ``rolling``: one after another; ``leadership``: leaders
``power``       power cuts, and disks that fail
``disks``       full disks and damaged files
``clocks``      wrong clocks
``resources``   too little processor, memory or disk
==============  =======================================================================================================
"""
