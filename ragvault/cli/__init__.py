"""The command line: reads words, calls the service, renders what comes back.

In comes ``argv``; out go text or one JSON object on stdout, notices and progress on stderr, and
an exit code. Nothing heavy is imported before a command needs it.

    main       the entry point; where every failure ends
    group      the table of commands, their help; options in groups
    options    options that commands share, and the ``Request`` that they make
    session    what every command starts with: settings, streams, the container
    desktop    the editor, Obsidian or what the system opens a note with; the clipboard
    commands/  one file a command
    render/    results as text
    failure    an exception as a sentence, a next step and an exit code
"""
