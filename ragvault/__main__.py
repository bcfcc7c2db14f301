"""The start of the process: ``ragvault``, and ``python -m ragvault``.

Nothing is imported before an interrupt can be told in one word.
"""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported ends with 130 too."""
    try:
        from ragvault.cli.main import run
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
