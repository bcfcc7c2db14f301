"""A setting put into a person's own file: nothing else in it may change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragvault.config.edit import with_value
from ragvault.config.keys import example, keys
from ragvault.errors import ConfigError

FILE = Path("config.yaml")


def put(text: str, key: str, value: Any) -> str:
    return with_value(FILE, text, keys()[key], value)


@pytest.mark.parametrize(
    ("text", "key", "value", "expected"),
    [
        ("", "embedding.profile", "multilingual", "embedding:\n  profile: multilingual\n"),
        (
            "# mine\noutput:\n    links: off   # don't: never\n    color: auto\n",
            "output.links",
            "file",
            "# mine\noutput:\n    links: file   # don't: never\n    color: auto\n",
        ),
        (
            "output:\n    # a note of mine\n    color: auto\n",
            "output.links",
            "off",
            'output:\n    links: "off"\n    # a note of mine\n    color: auto\n',
        ),
        (
            "answer:\n  max_chars:\n  log: true\n",
            "answer.max_chars",
            900,
            "answer:\n  max_chars: 900\n  log: true\n",
        ),
        (
            "index:\n  exclude:\n    - a/  # old\n    - b/\n  # keep\n  max_file_mb: 3\n",
            "index.exclude",
            ("c, d/", "e"),
            'index:\n  exclude: ["c, d/", "e"]\n  # keep\n  max_file_mb: 3\n',
        ),
        (
            'index:\n  exclude: ["a/"]  # these\n',
            "index.exclude",
            (),
            "index:\n  exclude: []  # these\n",
        ),
        ("ollama:\n  model: 'qwen: 7b'\n", "ollama.model", "yes", 'ollama:\n  model: "yes"\n'),
        (
            "ollama:\r\n  model: a\r\n",
            "ollama.temperature",
            0.5,
            "ollama:\r\n  temperature: 0.5\r\n  model: a\r\n",
        ),
    ],
)
def test_one_value_changes_and_nothing_else(text: str, key: str, value: Any, expected: str) -> None:
    assert put(text, key, value) == expected
    assert put(expected, key, value) == expected, "once more changes nothing"


def test_in_the_file_of_config_init_it_stands_below_its_own_comment() -> None:
    text = example(active=False)
    new = put(text, "embedding.profile", "multilingual")
    lines = new.split("\n")
    at = lines.index("  profile: multilingual")
    assert lines[at - 1].startswith("  #profile: bundled")
    assert [*lines[:at], *lines[at + 1 :]] == text.split("\n")


@pytest.mark.parametrize("name", keys())
def test_every_setting_can_be_put_in(name: str) -> None:
    key = keys()[name]
    for text in ("# mine\n", example(active=False)):
        new = with_value(FILE, text, key, key.default)
        assert len(new.splitlines()) > len(text.splitlines())


def test_an_alias_or_a_flow_style_is_left_to_its_owner() -> None:
    shared = "ollama:\n  model: &m qwen\n  embedding_model: *m\n"
    with pytest.raises(ConfigError, match="can't add to") as caught:
        put(shared, "ollama.model", "nomic")
    assert "  model: nomic" in caught.value.hint
    with pytest.raises(ConfigError, match="can't add to"):
        put("ollama: {model: a}\n", "ollama.host", "http://b")


def test_a_file_with_a_mistake_is_not_touched() -> None:
    with pytest.raises(ConfigError, match=r"config\.yaml:2.*modle"):
        put("ollama:\n  modle: a\n", "ollama.host", "http://b")
