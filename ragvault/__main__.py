"""``python -m ragvault``."""

from ragvault.cli.main import run

if __name__ == "__main__":
    run()
