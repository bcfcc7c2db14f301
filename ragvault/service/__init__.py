"""The paths through the stages: a vault into the index, a question to its answer.

Plain requests in, plain results out; no terminal here. Each file hands the container's objects to
the stages, one after the other; a command line, a server or a script renders what comes back.
"""
