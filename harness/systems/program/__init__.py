"""Any program as a system under test, from one TOML file and a client in any language.

``system``     the system that a file describes
``file_type``  the type of that file
``templates``  the command lines in it, with their placeholders
``workloads``  the workloads that it can name, and their answers
``client``     operations through the client program, and which outcomes its answers prove
``child``      a child process that answers lines of JSON, restarted when it fails
``skeleton``   the files that ``harness system new`` writes
"""
