"""Imports go one way: cli → service → wiring → {stages, adapters} → ports → model → errors.

If one goes the other way, a part can no longer be changed, or tested, by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "ragvault"
STAGES = ("ingest", "retrieval", "answering")
# Beside the model: anyone may import them.
SHARED = {"errors", "model", "ports", "config", "text", "formats"}
COMPOSITION = {"wiring", "service"}
HEAVY = {
    "chromadb",
    "onnxruntime",
    "tokenizers",
    "ollama",
    "httpx",
    "sentence_transformers",
    "torch",
    "huggingface_hub",
    "transformers",
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(file: Path) -> str:
    """ "retrieval" for a file of that package, "model" for ragvault/model.py."""
    relative = file.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


@cache
def imports(file: Path, *, top_level_only: bool = False) -> tuple[str, ...]:
    """Dotted names of all that a file imports at run time (not under TYPE_CHECKING)."""
    return tuple(_imports(file, top_level_only=top_level_only))


def _imports(file: Path, *, top_level_only: bool) -> Iterator[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            module = node.module or ""
            yield module
            if module.split(".")[0] == "ragvault":
                yield from (f"{module}.{alias.name}" for alias in node.names)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not (top_level_only and is_function):
            stack.extend(ast.iter_child_nodes(node))


def own_parts(file: Path) -> set[str]:
    """The parts of ragvault that a file imports."""
    names = (name.split(".") for name in imports(file))
    return {name[1] for name in names if name[0] == "ragvault" and len(name) > 1}


def allowed(part: str) -> set[str]:
    """What a part may import, besides itself."""
    if part in ("errors", "text", "__init__"):
        return set()
    if part == "model":
        return {"errors"}
    if part == "ports":
        return {"model", "errors"}
    if part == "config":
        return {"errors"}
    if part == "formats":
        return {"ports", "model", "errors", "text"}
    if part in STAGES or part == "adapters":
        return SHARED
    if part == "evaluation":
        return {*SHARED, "service", "wiring"}
    if part == "wiring":
        return {*SHARED, *STAGES, "adapters"}
    if part in COMPOSITION:
        return {*SHARED, *STAGES, *COMPOSITION}
    if part == "cli":
        return {*SHARED, *COMPOSITION, "evaluation", "__init__"}
    assert part == "__main__", f"{part} has no place in the layout yet: give it one here"
    return {"cli"}


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_go_one_way(file: Path) -> None:
    part = part_of(file)
    names = {name for name in own_parts(file) if name != "__version__"}
    wrong = names - allowed(part) - {part}
    assert not wrong, f"{file.relative_to(PACKAGE)} ({part}) must not import {sorted(wrong)}"


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_heavy_libraries_stay_in_adapters_and_out_of_start_up(file: Path) -> None:
    """Else `ragvault --help` waits for a model runtime."""
    everywhere = {name.split(".")[0] for name in imports(file)} & HEAVY
    if part_of(file) != "adapters":
        assert not everywhere
    at_import = {name.split(".")[0] for name in imports(file, top_level_only=True)} & HEAVY
    assert not at_import


def test_the_prompt_library_is_the_chats_alone() -> None:
    def users(*, at_start: bool) -> list[str]:
        files = ((file, imports(file, top_level_only=at_start)) for file in modules())
        return [file.name for file, names in files if "prompt_toolkit" in " ".join(names)]

    assert (users(at_start=False), users(at_start=True)) == (["chat.py"], [])


def test_only_wiring_builds_adapters() -> None:
    users = {part_of(file) for file in modules() if "adapters" in own_parts(file)}
    assert users <= {"wiring", "adapters"}


def test_no_module_imports_itself_round_a_circle() -> None:
    """Also not inside functions: parts of a circle can't be read, tested or moved one by one."""
    names = {".".join(file.with_suffix("").parts[-_depth(file) :]): file for file in modules()}
    names = {name.removesuffix(".__init__"): file for name, file in names.items()}
    graph = {name: names.keys() & set(imports(file)) - {name} for name, file in names.items()}
    list(TopologicalSorter(graph).static_order())  # raises CycleError


def _depth(file: Path) -> int:
    return len(file.relative_to(PACKAGE.parent).parts)


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_file_is_one_thing(file: Path) -> None:
    """A file that grows past a few screens is two things, a function past one as well."""
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


def test_a_folder_is_seen_at_a_glance() -> None:
    """And says in its ``__init__`` what it is."""
    for folder in {file.parent for file in modules()}:
        assert len(list(folder.glob("*.py"))) <= 16, folder
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))), folder
