"""One file a command or a few that belong together, imported when one is used (the table is in
``cli.group``): its options become the service's request (``cli.options``), what comes back goes to
``cli.render``, and its exit code is what it returns.
"""
