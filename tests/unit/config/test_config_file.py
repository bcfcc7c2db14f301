"""Settings come from the right place, and a mistake in them is named with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ragvault.config.file import LoadedSettings, load, read_text
from ragvault.config.keys import GONE, as_yaml, example, keys, sections
from ragvault.config.settings import Settings
from ragvault.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]


def write(folder: Path, text: str) -> Path:
    file = folder / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def load_text(folder: Path, text: str, environ: dict[str, str] | None = None) -> LoadedSettings:
    return load(write(folder, text), environ or {})


def failure(folder: Path, text: str, environ: dict[str, str] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_text(folder, text, environ)
    return caught.value


# ------------------------------------------------------------------ the example file


def test_example_file_is_the_rendered_one() -> None:
    """Otherwise the file in the repository tells users of defaults that aren't the program's.

    Renew it: make docs
    """
    assert (ROOT / "config.example.yaml").read_text(encoding="utf-8") == example()


def test_example_holds_every_key_with_its_default() -> None:
    loaded = load(ROOT / "config.example.yaml", {})
    assert loaded.settings == Settings()
    assert set(loaded.origins) == set(keys())


def test_every_setting_says_what_it_is_for() -> None:
    assert all(key.meaning for key in keys().values())
    assert all(sections().values())


def test_commented_example_changes_nothing(tmp_path: Path) -> None:
    """`config init` must not freeze today's defaults into a person's file."""
    loaded = load_text(tmp_path, example(active=False))
    assert loaded.settings == Settings()
    assert not loaded.origins


# ------------------------------------------------------------------ where values come from


def test_no_file_no_variables_gives_the_defaults(tmp_path: Path) -> None:
    loaded = load(None, {"RAGVAULT_CONFIG": ""})
    assert loaded.settings == Settings() or loaded.file is not None


def test_variable_beats_file_beats_default(tmp_path: Path) -> None:
    file = write(tmp_path, "ollama:\n  model: from-file\n")
    variables = {"RAGVAULT_OLLAMA_MODEL": "from-env"}
    assert load(file, {}).settings.ollama.model == "from-file"
    assert load(file, variables).settings.ollama.model == "from-env"
    assert load(file, variables).settings.ollama.host == Settings().ollama.host


def test_origin_names_the_line_and_the_variable(tmp_path: Path) -> None:
    file = write(tmp_path, "# mine\nollama:\n  model: a\n")
    loaded = load(file, {"RAGVAULT_GATE_MIN_CONFIDENCE": "0.5"})
    assert loaded.origin("ollama.model").label == f"{file}:3"
    assert loaded.origin("gate.min_confidence").label == "RAGVAULT_GATE_MIN_CONFIDENCE"
    assert loaded.origin("ollama.host").kind == "default"


def test_config_variable_names_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, "ollama: {model: x}\n")
    assert load(None, {"RAGVAULT_CONFIG": str(file)}).settings.ollama.model == "x"


def test_named_file_has_to_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no configuration file"):
        load(tmp_path / "none.yaml", {})


def test_debug_and_config_variables_are_no_settings(tmp_path: Path) -> None:
    """With RAGVAULT_DEBUG=1 every command would end with "unknown setting"."""
    others = {"RAGVAULT_DEBUG": "1", "RAGVAULT_CONFIG": "x", "OTHER": "y"}
    assert not load_text(tmp_path, "", others).origins


@pytest.mark.parametrize(
    ("variable", "text", "dotted", "value"),
    [
        ("RAGVAULT_INDEX_EXCLUDE", "a/, b*.md", "index.exclude", ("a/", "b*.md")),
        (
            "RAGVAULT_STORE_HEADERS",
            "X-Token=1=2, A=b",
            "store.headers",
            {"X-Token": "1=2", "A": "b"},
        ),
        ("RAGVAULT_STORE_SSL", "Yes", "store.ssl", True),
        ("RAGVAULT_STORE_PORT", " 9000 ", "store.port", 9000),
        ("RAGVAULT_OLLAMA_TIMEOUT_S", "30", "ollama.timeout_s", 30.0),
        ("RAGVAULT_OUTPUT_LINKS", "off", "output.links", "off"),
        ("RAGVAULT_EMBEDDING_PATH", "", "embedding.path", None),
        ("RAGVAULT_OLLAMA_MODEL", "3.5", "ollama.model", "3.5"),
    ],
)
def test_variables_are_read_by_the_type_of_their_key(
    tmp_path: Path, variable: str, text: str, dotted: str, value: object
) -> None:
    settings = load_text(tmp_path, "", {variable: text}).settings
    section, _, name = dotted.partition(".")
    assert getattr(getattr(settings, section), name) == value


# ------------------------------------------------------------------ YAML's traps


@pytest.mark.parametrize("word", ["off", "auto"])
def test_yaml_words_that_look_like_booleans_stay_words(tmp_path: Path, word: str) -> None:
    """YAML 1.1 reads `off` as false: `links: off` would be refused."""
    loaded = load_text(tmp_path, f"output: {{links: {word}}}\nollama: {{model: on}}\n")
    assert loaded.settings.output.links == word
    assert loaded.settings.ollama.model == "on"


def test_an_empty_prefix_is_not_none(tmp_path: Path) -> None:
    """None is what the model was trained with; empty is nothing before the text."""
    text = 'embedding:\n  query_prefix: ""\n  document_prefix: null\n'
    made = load_text(tmp_path, text).settings.embedding
    assert (made.query_prefix, made.document_prefix) == ("", None)
    variables = {
        "RAGVAULT_EMBEDDING_QUERY_PREFIX": "null",
        "RAGVAULT_EMBEDDING_DOCUMENT_PREFIX": "",
        "RAGVAULT_EMBEDDING_PATH": "",
    }
    made = load_text(tmp_path, text, variables).settings.embedding
    assert (made.query_prefix, made.document_prefix, made.path) == (None, "", None)


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    """A config beside its index works from any folder."""
    loaded = load_text(tmp_path, "index:\n  path: ../idx\n")
    assert loaded.settings.index.path == str(tmp_path.absolute() / "../idx")


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("USERPROFILE", "/home/someone")
    loaded = load_text(tmp_path, "index: {path: ~/idx}\n")
    assert Path(loaded.settings.index.path or "") == Path("/home/someone/idx")


def test_empty_file_empty_section_and_bom(tmp_path: Path) -> None:
    assert load_text(tmp_path, "").settings == Settings()
    assert load_text(tmp_path, "---\nollama:\n").settings == Settings()
    assert load_text(tmp_path, "\ufeffollama: {model: x}\n").settings.ollama.model == "x"


def test_tags_build_no_objects(tmp_path: Path) -> None:
    """A config that someone sends must not run code."""
    marker = tmp_path / "ran"
    text = f"ollama:\n  model: !!python/object/apply:os.system ['touch {marker}']\n"
    failure(tmp_path, text)
    assert not marker.exists()


# ------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("ollama:\n  modell: x\n", 2, ["modell", "ollama"]),
        ("olama:\n  model: x\n", 1, ["olama"]),
        ("gate:\n  min_confidence: 3\n", 2, ["gate.min_confidence", "from 0 to 1"]),
        ("store:\n  port: many\n", 2, ["store.port", "many", "whole number"]),
        ("store:\n  port: 80.5\n", 2, ["store.port", "whole number"]),
        ("store:\n\n  ssl: maybe\n", 3, ["store.ssl", "true or false"]),
        ("ollama:\n  model: [a]\n", 2, ["ollama.model", "text"]),
        ("index:\n  exclude: drafts\n", 2, ["index.exclude", "list"]),
        ("index:\n  extensions: [[x]]\n", 2, ["index.extensions", "list"]),
        ('index:\n  extensions: [.md, ""]\n', 2, ["index.extensions", "is empty"]),
        ("store:\n  headers: [a]\n", 2, ["headers", "mapping"]),
        ("output:\n  color: pink\n", 2, ["output.color", "auto, always, never"]),
        ("gate:\n  min_confidence: .nan\n", 2, ["gate.min_confidence"]),
        ("ollama:\n  timeout_s: inf\n", 2, ["ollama.timeout_s"]),
        ("ollama:\n  host: null\n", 2, ["ollama.host", "null"]),
        ("ollama:\n  host: file:///etc/passwd\n", 2, ["ollama.host", "http://127.0.0.1:11434"]),
        ("ollama:\n  host: http://\n", 2, ["ollama.host", "an address"]),
        ("ollama:\n  host: not an address\n", 2, ["ollama.host", "an address"]),
        ("ollama: 3\n", 1, ["ollama", "mapping"]),
        ("- a\n", 1, ["mapping"]),
        ("ollama:\n  model: a\n  model: b\n", 3, ["model", "twice"]),
        ("ollama:\n  model: 'a\n", 3, ["YAML"]),
        ("a: 1\n---\nb: 2\n", 2, ["YAML"]),
        ("? [a, b]\n: c\n", 1, ["key"]),
    ],
)
def test_mistake_is_named_with_file_line_and_remedy(
    tmp_path: Path, text: str, line: int, words: list[str]
) -> None:
    error = failure(tmp_path, text)
    assert f"config.yaml:{line}:" in error.message
    for word in words:
        assert word in error.message
    assert error.hint
    assert error.exit_code == 2


def test_typo_gets_a_suggestion(tmp_path: Path) -> None:
    assert "`min_vector`" in failure(tmp_path, "retrieval: {min_vektor: 0.2}\n").hint
    error = failure(tmp_path, "", {"RAGVAULT_OLAMA_MODEL": "x"})
    assert "RAGVAULT_OLAMA_MODEL" in error.message
    assert "RAGVAULT_OLLAMA_MODEL" in error.hint


def test_bad_variable_is_named(tmp_path: Path) -> None:
    error = failure(tmp_path, "", {"RAGVAULT_STORE_PORT": "0"})
    assert "RAGVAULT_STORE_PORT" in error.message
    assert "from 1 to 65535" in error.message


def test_not_utf8_and_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"ollama: {model: \xff}\n")
    with pytest.raises(ConfigError, match="UTF-8"):
        load(file, {})
    with pytest.raises(ConfigError):
        load(tmp_path, {})


@pytest.mark.slow
def test_deep_nesting_is_an_error_not_a_crash(tmp_path: Path) -> None:
    error = failure(tmp_path, "index: " + "[" * 100_000)
    assert error.exit_code == 2


# ------------------------------------------------------------------ keys of earlier versions


def test_a_key_of_an_earlier_version_is_named_and_ignored(tmp_path: Path) -> None:
    """After an upgrade a command that worked goes on working, and says which line to remove."""
    loaded = load_text(
        tmp_path, "rerank:\n  backend: onnx\nretrieval:\n  max_folders: [what, ever]\n"
    )
    assert loaded.settings.rerank.backend == "onnx"
    (line,) = loaded.notices
    assert f"{tmp_path / 'config.yaml'}:4: retrieval.max_folders" in line
    loaded = load_text(tmp_path, "", {"RAGVAULT_RETRIEVAL_MAX_FOLDERS": "0.1"})
    assert loaded.settings == Settings()
    (line,) = loaded.notices
    assert "RAGVAULT_RETRIEVAL_MAX_FOLDERS" in line


@pytest.mark.parametrize(
    ("text", "environ"),
    [("answer:\n  log: false\n", {}), ("", {"RAGVAULT_ANSWER_LOG": "false"})],
    ids=["file", "variable"],
)
def test_who_switched_the_log_off_has_no_history(
    tmp_path: Path, text: str, environ: dict[str, str]
) -> None:
    """A new name must not begin to keep what its owner wanted kept nowhere."""
    loaded = load_text(tmp_path, text, environ)
    assert not loaded.settings.history.enabled
    assert loaded.origin("history.enabled").kind in ("file", "env")


def test_no_setting_is_called_gone() -> None:
    """Its notice would be wrong, and never seen."""
    assert not GONE & keys().keys()


def test_the_old_default_of_folder_select_goes_on_working(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "retrieval:\n  folder_select: auto\n")
    assert loaded.settings.retrieval.folder_select == "off"


def test_many_old_keys_make_one_notice(tmp_path: Path) -> None:
    """A full file of the version before would cover the answer with a dozen lines."""
    loaded = load_text(tmp_path, "retrieval: {max_folders: 1, k_min: 2, max_candidates: 3}\n")
    assert len(loaded.gone) == 3
    (line,) = loaded.notices
    assert all(one in line for one in loaded.gone)


@given(st.text(max_size=200))
def test_any_text_loads_or_is_a_config_error(text: str) -> None:
    """No configuration file may end in a traceback."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        try:
            load(file, {})
        except ConfigError as error:
            assert error.message


@given(st.sampled_from(sorted(keys())))
def test_default_survives_its_yaml_form(dotted: str) -> None:
    import tempfile

    key = keys()[dotted]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        file.write_text(f"{key.section}:\n  {key.name}: {as_yaml(key.default)}\n")
        assert load(file, {}).settings == Settings()


@pytest.mark.parametrize("text", [".md,.org", '[".md", ".org"]'])
def test_a_list_in_a_variable_is_read_as_config_show_prints_it_too(text: str) -> None:
    """Split at its commas a JSON list named no extension, and the next index forgot all."""
    loaded = load(None, {"RAGVAULT_INDEX_EXTENSIONS": text, "RAGVAULT_CONFIG": ""})
    assert loaded.settings.index.extensions == (".md", ".org")


def test_patterns_that_begin_with_a_bracket_are_patterns() -> None:
    """Read as a list, ``[Dd]rafts/`` would leave nothing out."""
    loaded = load(None, {"RAGVAULT_INDEX_EXCLUDE": "[Dd]rafts/,[abc]", "RAGVAULT_CONFIG": ""})
    assert loaded.settings.index.exclude == ("[Dd]rafts/", "[abc]")


@pytest.mark.parametrize("text", ['[".md"', '["a", 5]', '["a", ' + "[" * 5000])
def test_a_list_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="RAGVAULT_INDEX_EXTENSIONS"):
        load(None, {"RAGVAULT_INDEX_EXTENSIONS": text})


def test_null_empties_a_list() -> None:
    """``config set index.exclude null``: as a pattern it would leave out a note of that name."""
    loaded = load(None, {"RAGVAULT_INDEX_EXCLUDE": "null", "RAGVAULT_CONFIG": ""})
    assert loaded.settings.index.exclude == ()
    with pytest.raises(ConfigError, match="at least one"):  # the next index would forget all
        load(None, {"RAGVAULT_INDEX_EXTENSIONS": "null", "RAGVAULT_CONFIG": ""})


def test_an_empty_path_in_the_file_is_none(tmp_path: Path) -> None:
    """Taken from the file's folder, it made the index beside the configuration."""
    file = tmp_path / "config.yaml"
    file.write_text('index:\n  path: ""\n')
    assert load(file, {}).settings.index.path is None


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.yaml")
    with pytest.raises(ConfigError, match="is no file"):
        read_text(tmp_path / "config.yaml")
