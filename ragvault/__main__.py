"""The start of the process: ``ragvault``, and ``python -m ragvault``.

Nothing is imported before an interrupt can be told in one word.
"""

import gc
import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported ends with 130 too.

    What is imported lives as long as the process: the collector need not go through it again and
    again, nor need it be taken apart at the end.
    """
    gc.set_threshold(200_000, 20, 50)
    # pydantic would look for plugins in the metadata of all that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        from ragvault.cli.main import run
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
    try:
        run()
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        for stream in (sys.stdout, sys.stderr):  # closed, when its reader has left
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(end.code)


if __name__ == "__main__":
    main()
