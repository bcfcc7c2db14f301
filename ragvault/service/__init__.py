"""The paths through the stages: a vault into the index, a question to its answer.

Plain requests in, plain results out; no terminal here. Each file hands the container's objects to
the stages, one after the other; a command line, a server or a script renders what comes back.

    vaults        which folders are vaults, under which names; their removal and renaming
    index         a vault into the index, once or for as long as it is watched
    search        a question to its passages
    models        what unrelated questions reach with a model, and when another would serve better
    ask           a question to its answer
    history       what was asked and answered: kept, read back, exported, counted
    originals     the notes' files: where they are, and what has become of what they said
    why           where a note stood in it, and what dropped it
    status        what is indexed, how current it is, what it runs on; nothing is loaded
    doctor        each part tried for real
    json_objects  results as JSON objects
"""
