"""Commands and files on the nodes, over SSH."""
