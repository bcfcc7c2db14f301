"""Where settings come from: defaults, the YAML file, RAGVAULT_* variables, flags; the later wins.

The file is composed, not constructed: each value keeps its line, and is read by the type of its
key (so ``links: off`` is the word "off", not false). No tag in it can build an object.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from ragvault.config import removed
from ragvault.config.keys import Key, block_keys, keys, section_names
from ragvault.config.settings import Settings
from ragvault.errors import ConfigError

Node: TypeAlias = Any  # a node of yaml.compose: its stubs leave out ``id`` and ``style``

ENV_PREFIX = "RAGVAULT_"
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


DEFAULT = Origin("default", "default")


@dataclass(frozen=True)
class LoadedSettings:
    """The settings, the origin of each by dotted key, the file that was read (None: none), and
    a line for each key that is set but no longer a setting."""

    settings: Settings
    origins: Mapping[str, Origin]
    file: Path | None
    removed: tuple[str, ...] = ()

    def origin(self, dotted: str) -> Origin:
        return self.origins.get(dotted, DEFAULT)

    @property
    def notices(self) -> tuple[str, ...]:
        """What every command says about ``removed``, in one line however many there are."""
        if len(self.removed) < 2:
            return self.removed
        return (
            f"The configuration sets {len(self.removed)} keys that are no longer settings and "
            "have no effect; `ragvault config validate` names them.",
        )


def default_path() -> Path:
    """The platform's place for the configuration file."""
    import platformdirs

    return platformdirs.user_config_path("ragvault", appauthor=False) / "config.yaml"


def locate(explicit: Path | None, environ: Mapping[str, str]) -> tuple[Path, bool]:
    """The configuration file, and whether someone named it (then it has to exist)."""
    if explicit is not None:
        return explicit.expanduser(), True
    named = environ.get(ENV_CONFIG)
    if named:
        return Path(named).expanduser(), True
    return default_path(), False


def load(
    explicit: Path | None, environ: Mapping[str, str], flags: Mapping[str, object] | None = None
) -> LoadedSettings:
    """Settings from all sources. ``flags`` are dotted keys; None values count as not given.

    Raises ConfigError with the file, line and key of what is wrong.
    """
    path, must_exist = locate(explicit, environ)
    values: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    exists = path.is_file()
    if not exists and must_exist:
        raise ConfigError(
            f"There is no configuration file {path}.",
            "Create it with `ragvault config init`, or leave out --config and RAGVAULT_CONFIG.",
        )
    gone: list[str] = []
    layers = [
        _file_values(path, gone) if exists else iter(()),
        _env_values(environ, gone),
        _flag_values(flags),
    ]
    for layer in layers:
        for dotted, value, origin in layer:
            values[dotted], origins[dotted] = value, origin
    settings = _validated(values, origins)
    return LoadedSettings(settings, origins, path if exists else None, tuple(gone))


# --------------------------------------------------------------------------- the file

_Value = tuple[str, object, Origin]


def _file_values(path: Path, gone: list[str]) -> Iterator[_Value]:
    """The file's settings. ``gone`` gets a line for each key that is no longer one."""
    root = _compose(path)
    if root is None:
        return
    for section, section_node, line in _pairs(root, path, "the top level"):
        if section not in section_names():
            raise _unknown(f"{path}:{line}", section, section_names(), "section")
        if _is_null(section_node):
            continue
        names = [key.name for key in keys().values() if key.section == section]
        for name, node, key_line in _pairs(section_node, path, section):
            dotted, place = f"{section}.{name}", f"{path}:{key_line}"
            old = _old_key(dotted, str(node.value) if node.id == "scalar" else "")
            if old is not None:
                gone.append(removed.notice(old, place, "remove the line"))
                continue
            if name not in names:
                raise _unknown(place, name, names, f"key of `{section}`")
            key = keys()[dotted]
            origin = Origin("file", place, key_line)
            yield key.dotted, _node_value(key, node, origin, path), origin


def _old_key(dotted: str, value: str) -> str | None:
    """The entry of ``removed.REMOVED`` that this key, or its value, is."""
    key = keys().get(dotted)
    if key is None:
        return dotted if dotted in removed.REMOVED else None
    choice = f"{dotted}: {value}"
    return choice if choice in removed.REMOVED and value not in key.choices else None


def _compose(path: Path) -> Node | None:
    import yaml

    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ConfigError(f"{path} is too large to be a configuration file.")
        text = path.read_text(encoding="utf-8-sig")
        node: Node = yaml.compose(text, Loader=yaml.SafeLoader)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"The configuration file {path} can't be read: {reason}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        problem = getattr(error, "problem", None) or str(error)
        raise ConfigError(f"{place}: this is not valid YAML: {problem}.") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply.") from error
    return None if node is None or _is_null(node) else node


def _pairs(node: Node, path: Path, where: str) -> Iterator[tuple[str, Node, int]]:
    """(key, value, line) of a mapping; anything else, and a key that comes twice, is an error."""
    line = node.start_mark.line + 1
    if node.id != "mapping":
        raise ConfigError(f"{path}:{line}: {where} has to be a mapping of keys to values.")
    seen: set[str] = set()
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        name = str(key_node.value) if key_node.id == "scalar" else ""
        if not name:
            raise ConfigError(f"{path}:{line}: a key has to be a plain word.")
        if name in seen:
            raise ConfigError(f"{path}:{line}: `{name}` is set twice.", "Keep one of the two.")
        seen.add(name)
        yield name, value_node, line


def _is_null(node: Node) -> bool:
    return node.id == "scalar" and str(node.tag).endswith(":null")


def _node_value(key: Key, node: Node, origin: Origin, path: Path) -> object:
    if _is_null(node):
        if key.nullable:
            return None
        raise _bad_value(key, "null", origin)
    if key.kind == "list":
        if node.id != "sequence" or any(item.id != "scalar" for item in node.value):
            raise _bad_value(key, _shown(node), origin)
        return tuple(_item(key, str(item.value), origin) for item in node.value)
    if key.kind == "block":
        return _block(key, node, path)
    if key.kind == "mapping":
        pairs = {name: item for name, item, _ in _pairs(node, path, key.dotted)}
        if any(item.id != "scalar" for item in pairs.values()):
            raise _bad_value(key, _shown(node), origin)
        return {name: str(item.value) for name, item in pairs.items()}
    if node.id != "scalar":
        raise _bad_value(key, _shown(node), origin)
    quoted = node.style in ("'", '"')
    if quoted and key.kind != "text":
        raise _bad_value(key, f'"{node.value}"', origin)
    value = _from_text(key, str(node.value), origin)
    return _resolve(value, path.parent) if key.is_path else value


def _item(key: Key, text: str, origin: Origin) -> object:
    """An item of a list: text, or a number where the key takes numbers."""
    if key.expects != "a list of numbers":
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise _bad_value(key, text, origin)
    return number


# Nobody writes one by hand, and one of an older version has none of today's names.
_FIT_AGAIN = "Remove `gate.calibration`, then fit it again: `ragvault eval --calibrate --apply`."


def _block(key: Key, node: Node, path: Path) -> dict[str, object]:
    """A mapping of named settings, each read by its own type."""
    known = block_keys(key)
    values: dict[str, object] = {}
    for name, value, line in _pairs(node, path, key.dotted):
        if name not in known:
            wrong = _unknown(f"{path}:{line}", name, known, f"key of `{key.dotted}`")
            is_typo = wrong.hint.startswith("Did you mean")
            raise wrong if is_typo else ConfigError(wrong.message, _FIT_AGAIN)
        values[name] = _node_value(known[name], value, Origin("file", f"{path}:{line}", line), path)
    missing = [name for name, one in known.items() if name not in values and not one.nullable]
    if missing:
        line = node.start_mark.line + 1
        raise ConfigError(f"{path}:{line}: `{key.dotted}` needs `{missing[0]}` too.", _FIT_AGAIN)
    return values


def _shown(node: Node) -> str:
    return {"sequence": "a list", "mapping": "a mapping"}.get(node.id, str(node.value))


# --------------------------------------------------------------------------- variables and flags


def _env_values(environ: Mapping[str, str], gone: list[str]) -> Iterator[_Value]:
    by_name = {key.env: key for key in keys().values()}
    old = removed.variables()
    for name in sorted(environ):
        reserved = name in ENV_RESERVED or name.startswith(ENV_RESERVED_PREFIX)
        if not name.startswith(ENV_PREFIX) or reserved:
            continue
        key = by_name.get(name)
        dotted = old.get(name, "") if key is None else key.dotted
        gone_key = _old_key(dotted, environ[name].strip())
        if gone_key is not None:
            gone.append(removed.notice(gone_key, name, "unset the variable"))
            continue
        if key is None:
            raise _unknown("the environment", name, by_name, "variable")
        origin = Origin("env", name)
        yield key.dotted, _env_value(key, environ[name], origin), origin


def _env_value(key: Key, text: str, origin: Origin) -> object:
    if key.nullable and text.strip().lower() in ("", "null"):
        return None
    if key.kind == "list":
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if key.kind == "block":
        raise _bad_value(key, text, origin, "null here; set it in the configuration file")
    if key.kind == "mapping":
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        if any(not equals for _, equals, _ in pairs):
            raise _bad_value(key, text, origin, "name=value pairs, separated by commas")
        return {name.strip(): value.strip() for name, _, value in pairs}
    value = _from_text(key, text.strip() if key.kind != "text" else text, origin)
    return _resolve(value, Path.cwd()) if key.is_path else value


def _flag_values(flags: Mapping[str, object] | None) -> Iterator[_Value]:
    for dotted, value in (flags or {}).items():
        if value is not None:
            yield dotted, value, Origin("flag", "command line")


_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}


def _from_text(key: Key, text: str, origin: Origin) -> object:
    if key.kind == "text":
        return text
    if key.kind == "bool":
        if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        raise _bad_value(key, text, origin)
    return _number(key, text, origin)


def _number(key: Key, text: str, origin: Origin) -> int | float:
    try:
        number = int(text) if key.kind == "int" else float(text)
    except ValueError:
        raise _bad_value(key, text, origin) from None
    if not math.isfinite(number):
        raise _bad_value(key, text, origin)
    return number


def _resolve(value: object, base: Path) -> str:
    """A path with ``~`` expanded and, when relative, taken from ``base``."""
    return str(base.absolute() / Path(str(value)).expanduser())


# --------------------------------------------------------------------------- checking


def _validated(values: Mapping[str, object], origins: Mapping[str, Origin]) -> Settings:
    nested: dict[str, dict[str, object]] = {}
    for dotted, value in values.items():
        section, _, name = dotted.partition(".")
        nested.setdefault(section, {})[name] = value
    try:
        return Settings.model_validate(nested)
    except ValidationError as error:
        problem = error.errors()[0]
        dotted = ".".join(str(part) for part in problem["loc"][:2])
        key = keys().get(dotted)
        if key is None:  # a rule over several keys of a section
            section = str(problem["loc"][0]) if problem["loc"] else "settings"
            raise ConfigError(f"{section}: {_sentence(problem['msg'])}") from None
        if key.kind == "block":
            place = origins.get(dotted, DEFAULT).label
            what = ".".join([dotted, *(str(part) for part in problem["loc"][2:])])
            sentence = _sentence(problem["msg"])
            raise ConfigError(f"{place}: `{what}`: {sentence}", _FIT_AGAIN) from None
        origin = origins.get(dotted, DEFAULT)
        raise _bad_value(key, problem["input"], origin) from None


def _sentence(message: str) -> str:
    return message.removeprefix("Value error, ").rstrip(".") + "."


def _bad_value(key: Key, value: Any, origin: Origin, expects: str | None = None) -> ConfigError:
    place = f"{origin.label}: " if origin.kind != "default" else ""
    shown = " ".join(str(value).split())
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    hint = f"The default is {key.default!r}; config.example.yaml explains the key."
    if origin.kind == "file":
        hint = f"Mend line {origin.line}, then run `ragvault config validate`."
    elif origin.kind == "env":
        hint = f"Unset {origin.label}, or give it such a value."
    return ConfigError(
        f"{place}`{key.dotted}` is {shown}, but takes {expects or key.expects}.", hint
    )


def _unknown(place: str, name: str, known: Any, what: str) -> ConfigError:
    shown = name if len(name) <= 60 else name[:59] + "…"
    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"Did you mean `{near[0]}`?" if near else None
    if hint is None and len(known) <= 12:
        hint = f"Known: {', '.join(known)}."
    return ConfigError(f"{place}: `{shown}` is not a {what} that ragvault knows.", hint)
