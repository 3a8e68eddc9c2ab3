"""The faults, one file for each subject.

==============  =======================================================================================================
``registry``    all faults by name
``partitions``  nodes that drop packets from others; ``targeted_partitions`` cut off the leader, one way, or gradually
``traffic``     lossy and slow links; ``delay`` delays, reorders or duplicates packets with ``queue_helper`` on the node
``processes``   kills and pauses processes; ``rolling`` kills one after another; ``leadership`` aims at leaders
``power``       power cuts and failing disks
``disks``       full disks and damaged files
``clocks``      wrong clocks
``resources``   too little processor time, memory or disk bandwidth
==============  =======================================================================================================
"""
