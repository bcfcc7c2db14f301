"""Options that belong together, as one parameter.

A command whose parameter is a dataclass gets one option a field instead, and is called with the
dataclass that they fill:

    @dataclass(frozen=True)
    class Filters:
        tag: Annotated[str | None, typer.Option("--tag")] = None

    @app.command()
    def search(query: str, *, filters: Filters) -> int: ...     # search --tag TAG QUERY
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def unfolded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with each of its dataclasses unfolded; itself where it has none.

    The options keep the order of the parameters and of the fields. Raises TypeError for a field
    that has the name of another parameter.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }
    if not groups:
        return command

    @functools.wraps(command)
    def run(**values: Any) -> Any:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        return command(**values)

    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        parameters += _options_of(groups[name]) if name in groups else [_keyword(parameter)]
    names = [parameter.name for parameter in parameters]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TypeError(f"{command.__name__} has more than one parameter {', '.join(repeated)}")
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by inspect
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def _keyword(parameter: inspect.Parameter) -> inspect.Parameter:
    """By name only, so that one with a default may stand before one without."""
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
