"""Any program as a system under test, with a client in any language.

``client``  operations through the client program, and which outcomes its answers prove
``child``   a child process that answers lines of JSON, started anew when it fails
"""
