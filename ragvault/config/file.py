"""Where settings come from: defaults, the YAML file, RAGVAULT_* variables; the later wins.

The file is composed, not constructed: no tag in it can build an object, each value keeps its
line, and a word is read by the type of its setting (``links: off`` is "off", not false).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from ragvault.config.keys import (
    ENV_PREFIX,
    GONE,
    RENAMED,
    Key,
    expected,
    keys,
    names_in,
    setting_at,
    variable,
)
from ragvault.config.settings import Settings
from ragvault.errors import ConfigError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Node: TypeAlias = Any  # a node of yaml.compose: its stubs leave out ``id`` and ``style``

# Variables that are no settings.
ENV_CONFIG = "RAGVAULT_CONFIG"
ENV_RESERVED = frozenset({ENV_CONFIG, "RAGVAULT_DEBUG"})
ENV_RESERVED_PREFIX = "RAGVAULT_TEST_"
MAX_CONFIG_BYTES = 1_000_000


@dataclass(frozen=True)
class Origin:
    """Where a value was set. ``label`` is for people: "config.yaml:12", "RAGVAULT_OLLAMA_MODEL"."""

    kind: str  # "default" | "file" | "env" | "flag"
    label: str
    line: int | None = None

    @property
    def before(self) -> str:
        """What a mistake's message begins with; nothing where it was just typed."""
        return f"{self.label}: " if self.kind in ("file", "env") else ""


DEFAULT = Origin("default", "default")
FLAG = Origin("flag", "command line")


@dataclass(frozen=True)
class LoadedSettings:
    """The settings, the origin of each by dotted key, the file that was read (None: none), and
    the keys that are set but have no effect any more, each behind its place."""

    settings: Settings
    origins: Mapping[str, Origin]
    file: Path | None
    gone: tuple[str, ...] = ()

    def origin(self, dotted: str) -> Origin:
        return self.origins.get(dotted, DEFAULT)

    @property
    def notices(self) -> tuple[str, ...]:
        """What every command says about ``gone``."""
        said = f"No longer settings, and without effect: {', '.join(self.gone)}. Remove them."
        return (said,) if self.gone else ()


def locate(explicit: Path | None, environ: Mapping[str, str]) -> tuple[Path, bool]:
    """The configuration file, and whether someone named it (then it has to exist)."""
    if explicit is not None:
        return explicit.expanduser(), True
    named = environ.get(ENV_CONFIG)
    if named:
        return Path(named).expanduser(), True
    import platformdirs

    return platformdirs.user_config_path("ragvault", appauthor=False) / "config.yaml", False


def load(explicit: Path | None, environ: Mapping[str, str]) -> LoadedSettings:
    """Settings from all sources. Raises ConfigError with the file, line and key of what is
    wrong."""
    path, is_named = locate(explicit, environ)
    exists = path.is_file()
    if not exists and is_named:
        raise ConfigError(
            f"There is no configuration file {path}.",
            "Create it with `ragvault config init`, or leave out --config and RAGVAULT_CONFIG.",
        )
    sources = _Sources(path, read_text(path) if exists else "")
    sources.take_variables(environ)
    settings = sources.validated()
    return LoadedSettings(settings, sources.origins, path if exists else None, tuple(sources.gone))


def settings_in(path: Path, text: str, changed: Mapping[str, object] | None = None) -> Settings:
    """What ``load`` would make of the file ``path`` alone, if it held ``text``; with the values
    ``changed``, by their dotted keys, in place of its own."""
    sources = _Sources(path, text)
    for dotted, value in (changed or {}).items():
        sources.set(dotted, value, FLAG)
    return sources.validated()


class _Mapping(dict[str, Any]):
    """A mapping of the file, with the line of each key."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}


def read_text(path: Path) -> str:
    """The file's text. Raises ConfigError when it can't be read."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise ConfigError(f"{path} is there, and is no file.", "Move it away.")
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ConfigError(f"{path} is too large to be a configuration file.")
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"The configuration file {path} can't be read: {reason}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from error


def _composed(path: Path, text: str) -> _Mapping:
    if not text:  # no file: its library isn't needed either
        return _Mapping()
    import yaml

    try:
        node: Node = yaml.compose(text, Loader=yaml.SafeLoader)
        tree = None if node is None else _plain(node, path, {})
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        problem = getattr(error, "problem", None) or str(error)
        raise ConfigError(f"{place}: this is not valid YAML: {problem}.") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply.") from error
    if tree is None:
        return _Mapping()
    if not isinstance(tree, _Mapping):
        line = node.start_mark.line + 1
        raise _no_mapping(f"{path}:{line}", "the top level")
    return tree


def _plain(node: Node, path: Path, known: dict[int, Any]) -> Any:
    """A node as text, None, list or _Mapping. ``known`` holds what was made already: an alias is
    the same object again, so that aliases of aliases cost nothing and may even be circular."""
    if node.id == "scalar":
        return None if str(node.tag).endswith(":null") else str(node.value)
    if id(node) in known:
        return known[id(node)]
    if node.id == "sequence":
        items: list[Any] = []
        known[id(node)] = items
        items += [_plain(item, path, known) for item in node.value]
        return items
    mapping = _Mapping()
    known[id(node)] = mapping
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        name = str(key_node.value) if key_node.id == "scalar" else ""
        if not name:
            raise ConfigError(f"{path}:{line}: a key has to be a plain word.")
        if name in mapping:
            raise ConfigError(f"{path}:{line}: `{name}` is set twice.", "Keep one of the two.")
        mapping[name] = _plain(value_node, path, known)
        mapping.lines[name] = line
    return mapping


def _no_mapping(place: str, where: str) -> ConfigError:
    return ConfigError(f"{place}: {where} has to be a mapping of keys to values.")


class _Sources:
    """The values from all sources, the later over the earlier, and where each came from: first
    those of the file ``path``, which holds ``text``."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.tree = _composed(path, text)
        self.values: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}
        self.gone: list[str] = []
        for section, part in self.tree.items():
            if section not in Settings.model_fields:
                self.values[section] = part  # the validation names it
            elif isinstance(part, _Mapping):
                for name, value in part.items():
                    self._take_line(section, name, value, part.lines[name])
            elif part is not None:
                raise _no_mapping(f"{path}:{self.tree.lines[section]}", section)

    def set(self, dotted: str, value: object, origin: Origin) -> None:
        section, _, name = dotted.partition(".")
        self.values.setdefault(section, {})[name] = value
        self.origins[dotted] = origin

    def _take_line(self, section: str, name: str, value: Any, line: int) -> None:
        dotted = f"{section}.{name}"
        origin = Origin("file", f"{self.path}:{line}", line)
        if dotted in GONE:
            self.gone.append(f"{origin.label}: {dotted}")
            return
        if name == "path" and isinstance(value, str):
            value = _resolve(value, self.path.parent) if value.strip() else None
        self.set(RENAMED.get(dotted, dotted), value, origin)

    def take_variables(self, environ: Mapping[str, str]) -> None:
        given = sorted(name for name in environ if name.startswith(ENV_PREFIX))
        given = [name for name in given if name not in ENV_RESERVED]
        given = [name for name in given if not name.startswith(ENV_RESERVED_PREFIX)]
        if not given:  # making the keys takes some 10 ms
            return
        known = {key.env: key for key in keys().values()}
        known |= {variable(old): keys()[new] for old, new in RENAMED.items()}
        gone = {variable(dotted) for dotted in GONE}
        for name in given:
            if name in gone:
                self.gone.append(name)
                continue
            if name not in known:
                raise unknown("the environment: ", name, list(known), "variable")
            origin = Origin("env", name)
            self.set(known[name].dotted, value_of(known[name], environ[name], origin), origin)

    def validated(self) -> Settings:
        """Raises ConfigError for the first mistake in the file, else for one of the others."""
        try:
            return Settings.model_validate(self.values)
        except ValidationError as error:
            problems = error.errors(include_url=False)
            # A misspelt key first: it explains the missing one beside it.
            first = min(
                problems,
                key=lambda one: (
                    one["type"] != "extra_forbidden",
                    self._origin(one["loc"]).line or MAX_CONFIG_BYTES,
                ),
            )
            raise _explained(first, self._origin(first["loc"])) from None

    def _origin(self, place: Sequence[str | int]) -> Origin:
        """Of a place in the values: its key's, else its section's."""
        line = self.tree.lines.get(str(place[0]))
        section = Origin("file", f"{self.path}:{line}", line) if line else DEFAULT
        return self.origins.get(".".join(map(str, place[:2])), section)


def value_of(key: Key, text: str, origin: Origin = FLAG) -> object:
    """What a variable or a word of the command line means; checked when the settings are made."""
    text = text if key.kind == "string" else text.strip()
    # An empty path is none; an empty text is a text.
    nothing = ("null",) if key.kind == "string" and key.name != "path" else ("", "null")
    if text.strip().lower() in nothing:
        if key.nullable:
            return None
        text = "" if key.kind in ("array", "object") else text
    # What begins with a bracket alone may be a pattern of .gitignore's: ``[Dd]rafts/``.
    if key.kind == "array" and text.startswith('["'):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise _bad_value([key.section, key.name], text, origin) from None
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if key.kind == "array":
        return parts
    if key.kind == "object":
        pairs = [part.partition("=") for part in parts]
        if any(not equals for _, equals, _ in pairs):
            message = "name=value pairs, separated by commas"
            raise _bad_value([key.section, key.name], text, origin, message)
        return {name.strip(): value.strip() for name, _, value in pairs}
    return _resolve(text, Path.cwd()) if key.name == "path" else text


def _resolve(value: str, base: Path) -> str:
    """A path with ``~`` expanded and, when relative, taken from ``base``."""
    return str(base.absolute() / Path(value).expanduser())


def _explained(problem: ErrorDetails, origin: Origin) -> ConfigError:
    """What validation found, in ragvault's words."""
    place = problem["loc"]
    if problem["type"] == "extra_forbidden":
        dotted, part = setting_at(place[:-1])
        what = f"key of `{dotted}`" if dotted else "section"
        return unknown(origin.before, str(place[-1]), names_in(part), what)
    return _bad_value(place, problem["input"], origin)


def _bad_value(
    place: Sequence[str | int], value: Any, origin: Origin, takes: str | None = None
) -> ConfigError:
    dotted, part = setting_at(place)
    hint = f"{part.get('description', '')} The default is {part.get('default')!r}.".lstrip()
    if origin.kind == "file":
        hint = f"Mend line {origin.line}, then run `ragvault config show`."
    elif origin.kind == "env":
        hint = f"Unset {origin.label}, or give it such a value."
    return ConfigError(
        f"{origin.before}`{dotted}` is {_shown(value)}, but takes {takes or expected(part)}.", hint
    )


def _shown(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    return "null" if value is None else _short(" ".join(str(value).split())) or "empty"


def unknown(
    before: str, name: str, known: list[str], what: str, otherwise: str | None = None
) -> ConfigError:
    """For a name that isn't ``known``, with the nearest that is, or ``otherwise`` as next step.
    ``before``: where it stands."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean `{near[0]}`?" if near else otherwise
    if hint is None and len(known) <= 12:
        hint = f"Known: {', '.join(known)}."
    return ConfigError(f"{before}`{_short(name)}` is not a {what} that ragvault knows.", hint)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
