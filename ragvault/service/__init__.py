"""The paths through the stages: a vault into the index, a question to its answer.

Beside ``wiring``: each hands the container's objects to the stages, one after the other. No output
here; the command line renders what comes back.

    vaults       which folders are vaults, under which names; their removal and renaming
    indexing     a vault into the index, once or for as long as it is watched
    coverage     how much of what is on disk the index holds as it is
    finding      a question to its passages
    calibration  how a passage's scores become a confidence
    asking       a question to its answer
"""
