"""The command line: reads words, calls the service, renders what comes back.

In comes ``argv``; out go text or one JSON object on stdout, notices and progress on stderr, and
an exit code. Nothing heavy is imported before a command needs it.
"""
