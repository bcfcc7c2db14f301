"""One file a command or a few that belong together, imported when one is used (the table is in
``cli.group``).

In come the words of the command line, as typer has read them, and an open ``Session``; out goes
an exit code. A command makes the service's request from its options (``cli.options``), calls the
service, and hands what comes back to ``cli.render``.

    ask, search, index      the commands of those names; why is beside search
    past, upkeep            past answers; the state of the index
    history, vault, eval …  groups of commands of their own
"""
