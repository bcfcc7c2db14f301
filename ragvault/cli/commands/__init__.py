"""One file a command, imported when it is used (the table is in ``cli.group``).

In come the words of the command line, as typer has read them; out goes an exit code. A command
opens a ``Session``, makes the service's request from its options (``cli.options``), calls the
service, and hands what comes back to ``cli.render``.

    ask, search, index, status, doctor   the commands of those names
    past                                 show, sources, source, open, stats: of past answers
    history, vault, config               groups of commands of their own
    eval, eval_*                         measuring, and what belongs to it
"""
