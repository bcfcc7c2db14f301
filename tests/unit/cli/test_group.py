"""Options in groups: what a command gets from a dataclass among its parameters."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import typer

from ragvault.cli.group import unfolded


@dataclass(frozen=True)
class Colours:
    red: Annotated[int, typer.Option("--red")] = 1
    blue: Annotated[int, typer.Option("--blue")] = 2


def paint(where: str, *, colours: Colours, thick: bool = False) -> tuple[str, Colours, bool]:
    return where, colours, thick


def test_group_stands_for_an_option_a_field_in_its_place() -> None:
    parameters = inspect.signature(unfolded(paint)).parameters
    assert list(parameters) == ["where", "red", "blue", "thick"]
    assert parameters["where"].default is inspect.Parameter.empty
    assert (parameters["red"].default, parameters["blue"].default) == (1, 2)


def test_command_is_called_with_the_group_that_the_options_fill() -> None:
    """Else a filter that was typed would be searched without."""
    called = unfolded(paint)(where="wall", red=5, blue=2, thick=True)
    assert called == ("wall", Colours(red=5), True)
