"""Run pip with one line of progress instead of hundreds, and all of its output if it fails.

    python .ci/pip.py "what is installed, for people" install -e .

Only the standard library: it runs before anything is installed.
"""

from __future__ import annotations

import subprocess
import sys
import time

STEPS = ("Collecting ", "Downloading ", "Using cached ", "Obtaining ", "Processing ")


def main(argv: list[str]) -> int:
    """Returns pip's own exit code."""
    label, arguments = argv[0], argv[1:]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    command += ["--progress-bar", "off"] if arguments[:1] == ["install"] else []
    live = sys.stderr.isatty()
    print(f"{label} …", file=sys.stderr, flush=True)
    began, lines, files = time.monotonic(), [], 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            lines.append(line)
            files += line.lstrip().startswith(STEPS)
            if live:
                text = f"  {files} files, {time.monotonic() - began:.0f} s"
                print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
    if live:
        print("\r\033[K", end="", file=sys.stderr)
    if pip.returncode:
        sys.stderr.writelines(lines)
        print(f"pip failed with exit code {pip.returncode}.", file=sys.stderr)
    else:
        print(f"  done in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
