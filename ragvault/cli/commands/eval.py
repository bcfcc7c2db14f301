"""``ragvault eval``: how well it finds, and how honestly it refuses, on one's own notes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from ragvault.cli.commands.eval_options import EvalOptions
from ragvault.cli.group import command_app
from ragvault.cli.options import ConfigOption, JsonOption
from ragvault.errors import Interrupted

app = command_app()


@contextmanager
def _from_the_start() -> Iterator[None]:
    """Nothing of an evaluation is kept when it is interrupted, unlike with ``index``."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            "Interrupted.", "Fewer questions take less time: `--limit 100`."
        ) from None


@app.command("eval")
def evaluate(options: EvalOptions, as_json: JsonOption = False, config: ConfigOption = None) -> int:
    """Measure how well ragvault finds, and how honestly it refuses.

    Asks every question of a set and compares with the known places: ranking, hit rates, refusals,
    confidence; each with its 95 % interval.
    """
    from ragvault.cli.session import Session

    options.check()
    now = datetime.now()
    with _from_the_start(), Session.open(config, {"answer.log": False}) as session:
        if options.compare is not None:
            from ragvault.cli.commands.eval_make import compare_runs

            return compare_runs(session, *options.compare, seed=options.seed, as_json=as_json)
        if options.generate is not None:
            from ragvault.cli.commands.eval_make import generate_set

            return generate_set(session, options, options.generate)
        if options.calibrate:
            from ragvault.cli.commands.eval_calibrate import calibrate_gate

            return calibrate_gate(session, options, now=now, config=config, as_json=as_json)
        from ragvault.cli.commands.eval_run import run_set

        return run_set(session, options, now=now, as_json=as_json)
