"""The Ollama adapter, against a server that speaks Ollama's API from another process."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragvault.adapters.ollama.chat import OllamaChat
from ragvault.config.settings import OllamaSettings
from ragvault.errors import (
    ConfigError,
    ModelMissingError,
    ModelServerError,
    ModelStreamError,
)
from ragvault.model import ChatOptions, Message
from tests.support.ollama_fixtures import OllamaHandle, real_ollama, scripted_ollama
from tests.support.ollama_real import CHAT_MODEL

__all__ = ["real_ollama"]  # the fixture

QUESTION = (Message("system", "You answer from notes."), Message("user", "Where is it?"))
OPTIONS = ChatOptions(model="llama3.2", num_ctx=2048, temperature=0.1, max_tokens=50)


def chat(server: OllamaHandle, **more: object) -> OllamaChat:
    return OllamaChat(OllamaSettings(host=server.url, **{"timeout_s": 20.0, **more}))  # type: ignore[arg-type]


def read(server: OllamaHandle, **more: object) -> str:
    return chat(server, **more).complete(QUESTION, OPTIONS)


@pytest.fixture(scope="module")
def shared():
    """One scripted server for all tests of this file; each plays its own script."""
    with scripted_ollama() as handle:
        yield handle


def test_an_answer_comes_whole_with_its_token_counts(shared: OllamaHandle) -> None:
    shared.play({"replies": [{"steps": [{"text": "In the blue box.\n\nYes."}]}]})
    with chat(shared).chat(QUESTION, OPTIONS) as stream:
        tokens = list(stream)
    assert len(tokens) > 2, "streamed in pieces"
    assert "".join(tokens) == "In the blue box.\n\nYes."
    assert stream.usage.completion_tokens == 5
    assert stream.usage.prompt_tokens is not None and stream.usage.prompt_tokens > 0


def test_the_server_gets_what_the_config_says(shared: OllamaHandle) -> None:
    shared.play({})
    read(shared, keep_alive="17m")
    (request,) = shared.requests("/api/chat")
    body = request["body"]
    assert body["options"] == {"num_ctx": 2048, "temperature": 0.1, "num_predict": 50, "seed": 0}
    assert body["keep_alive"] == "17m"
    assert body["stream"] is True
    assert body["think"] is False
    assert body["messages"] == [
        {"role": "system", "content": "You answer from notes."},
        {"role": "user", "content": "Where is it?"},
    ]


def test_a_lone_surrogate_in_a_note_does_not_stop_the_question(shared: OllamaHandle) -> None:
    shared.play({"replies": ["{last}"]})
    assert chat(shared).complete([Message("user", "a\udc80b")], OPTIONS) == "a?b"


def test_version_models_and_context_length(shared: OllamaHandle) -> None:
    models = [
        {"name": "qwen3", "context_length": 40960, "capabilities": ["completion", "thinking"]},
        {"name": "gemma3:4b", "context_length": None},
    ]
    shared.play({"version": "0.9.9", "models": models})
    server = chat(shared)
    assert server.version() == "0.9.9"
    assert server.models() == ["gemma3:4b", "qwen3:latest"]
    assert server.info("qwen3").context_length == 40960
    assert server.info("qwen3").capabilities == ("completion", "thinking")
    assert server.info("gemma3:4b").context_length is None
    assert server.info("gemma3:4b").parameters == 8_000_000_000


def test_without_a_name_the_largest_that_a_laptop_runs_writes(shared: OllamaHandle) -> None:
    models = [
        {"name": "qwen2.5:0.5b", "size": 400_000_000},
        {"name": "llama3.1:8b", "size": 4_900_000_000},
        {"name": "llama3.1:70b", "size": 43_000_000_000},
        {"name": "nomic-embed-text", "size": 6_000_000_000, "capabilities": ["embedding"]},
    ]
    shared.play({"models": models})
    assert chat(shared).info(None).name == "llama3.1:8b"
    shared.play({"models": [{**m, "loaded": m["name"] == "qwen2.5:0.5b"} for m in models]})
    server = chat(shared)
    server.complete(QUESTION, replace(OPTIONS, model=None))
    assert shared.requests("/api/chat")[-1]["body"]["model"] == "qwen2.5:0.5b"


def test_a_server_with_embedders_alone_has_none_that_writes(shared: OllamaHandle) -> None:
    shared.play({"models": [{"name": "bge-m3", "capabilities": ["embedding"]}]})
    with pytest.raises(ModelMissingError, match="no model that writes") as caught:
        chat(shared).info(None)
    assert "ollama pull" in caught.value.hint


def test_each_answer_is_asked_for_with_one_seed(shared: OllamaHandle) -> None:
    shared.play({"replies": ["Here."]})
    read(shared)
    assert shared.requests("/api/chat")[-1]["body"]["options"]["seed"] == 0


@pytest.mark.parametrize("seed", [7, None])
def test_the_seed_is_the_one_that_is_set_or_none(shared: OllamaHandle, seed: int | None) -> None:
    shared.play({"replies": ["Here."]})
    read(shared, seed=seed)
    assert shared.requests("/api/chat")[-1]["body"]["options"].get("seed") == seed


# ------------------------------------------------------------------------------ reasoning


def test_the_thinking_field_is_not_part_of_the_answer(shared: OllamaHandle) -> None:
    shared.play({"replies": [{"steps": [{"thinking": "Hmm, secret."}, {"text": "Here."}]}]})
    assert read(shared) == "Here."


def test_inline_reasoning_cut_up_between_tokens_is_not_part_of_it(shared: OllamaHandle) -> None:
    chunks = ["<th", "ink", ">se", "cret</", "thi", "nk>", "\n\n", "Here", " <5", " and", " >3."]
    shared.play({"replies": [{"steps": [{"chunks": chunks}]}]})
    assert read(shared) == "Here <5 and >3."


def test_reasoning_that_never_ends_gives_nothing(shared: OllamaHandle) -> None:
    shared.play({"replies": [{"steps": [{"chunks": ["<think>", "a secret", " and more"]}]}]})
    assert read(shared) == ""


def test_reasoning_is_asked_for_only_where_the_model_can(shared: OllamaHandle) -> None:
    models = [
        {"name": "llama3.2"},
        {"name": "qwen3", "capabilities": ["completion", "thinking"]},
    ]
    shared.play({"models": models})
    server = chat(shared, think=True)
    server.complete(QUESTION, OPTIONS)
    server.complete(QUESTION, ChatOptions("qwen3", 2048, 0.0, 50))
    asked = [item["body"]["think"] for item in shared.requests("/api/chat")]
    assert asked == [False, True]


# ------------------------------------------------------------------------------ failures


def test_a_missing_model_names_those_there_and_the_pull(shared: OllamaHandle) -> None:
    shared.play({"models": ["mistral:7b", "phi4"]})
    for call in (lambda: read(shared), lambda: chat(shared).info("llama3.2")):
        with pytest.raises(ModelMissingError) as caught:
            call()
        assert "'llama3.2'" in caught.value.message
        assert "ollama pull llama3.2" in caught.value.hint
        assert "mistral:7b, phi4:latest" in caught.value.hint


def test_a_missing_model_on_a_server_without_any(shared: OllamaHandle) -> None:
    shared.play({"models": []})
    with pytest.raises(ModelMissingError, match=r"llama3\.2") as caught:
        read(shared)
    assert caught.value.hint == "Pull it with `ollama pull llama3.2`."


def test_an_empty_model_name_is_told_as_such(shared: OllamaHandle) -> None:
    shared.play({})
    server = chat(shared)
    nameless = ChatOptions("", num_ctx=2048, temperature=0.0, max_tokens=5)
    for call in (lambda: server.info(" "), lambda: server.complete(QUESTION, nameless)):
        with pytest.raises(ModelMissingError, match="No chat model is named"):
            call()
    assert shared.requests() == []


def test_a_model_that_only_embeds_is_refused_in_its_servers_words(shared: OllamaHandle) -> None:
    shared.play({"models": [{"name": "llama3.2", "capabilities": ["embedding"]}]})
    with pytest.raises(ModelServerError, match="does not support chat"):
        read(shared)


def test_a_server_error_is_told_with_its_words(shared: OllamaHandle) -> None:
    shared.play({"replies": [{"status": 500, "error": "llama runner process has terminated"}]})
    with pytest.raises(ModelServerError, match="llama runner process has terminated") as caught:
        read(shared)
    assert not isinstance(caught.value, ModelStreamError)


def test_too_little_memory_suggests_a_smaller_model(shared: OllamaHandle) -> None:
    reason = "model requires more system memory (9.1 GiB) than is available (4.2 GiB)"
    shared.play({"replies": [{"status": 500, "error": reason}]})
    with pytest.raises(ModelServerError, match="more system memory") as caught:
        read(shared)
    assert "smaller model" in caught.value.hint


@pytest.mark.parametrize(
    "end",
    [
        pytest.param([{"disconnect": True}], id="cut connection"),
        pytest.param([{"error": "an error was encountered"}], id="error object"),
        pytest.param([{"raw": "<html>"}], id="not JSON"),
        pytest.param([{"raw": "[1, 2]"}], id="not an object"),
        pytest.param([], id="no last part"),
    ],
)
def test_a_failure_in_the_middle_keeps_what_came(shared: OllamaHandle, end: list) -> None:
    steps = [{"chunks": ["The box", " is blue"]}, *end]
    shared.play({"replies": [{"steps": steps, "done": False}]})
    got: list[str] = []
    with pytest.raises(ModelStreamError) as caught:
        got.extend(chat(shared).chat(QUESTION, OPTIONS))
    assert "".join(got) == "The box is blue"
    assert caught.value.message.endswith(".") and caught.value.hint.endswith(".")


def test_a_failure_before_the_first_token_is_not_a_broken_answer(shared: OllamaHandle) -> None:
    shared.play({"replies": [{"steps": [{"thinking": "hm"}, {"disconnect": True}]}]})
    with pytest.raises(ModelServerError) as caught:
        read(shared)
    assert not isinstance(caught.value, ModelStreamError)


def test_a_stall_ends_at_the_timeout(shared: OllamaHandle) -> None:
    shared.play({"replies": [{"steps": [{"text": "The box"}, {"stall": True}]}]})
    with pytest.raises(ModelStreamError, match=r"no answer within 0\.3 s") as caught:
        read(shared, timeout_s=0.3)
    assert "timeout_s" in caught.value.hint


def test_a_server_that_is_not_there(shared: OllamaHandle) -> None:
    with scripted_ollama() as other:
        url = other.url
    server = OllamaChat(OllamaSettings(host=url))
    calls = (
        server.version,
        server.models,
        lambda: server.info("llama3.2"),
        lambda: server.complete(QUESTION, OPTIONS),
    )
    for call in calls:
        with pytest.raises(ModelServerError, match="can't be reached") as caught:
            call()
        assert "ollama serve" in caught.value.hint


def test_another_kind_of_server_is_told_apart(shared: OllamaHandle) -> None:
    server = OllamaChat(OllamaSettings(host=shared.url + "/elsewhere"))
    for call in (server.version, server.models, lambda: server.complete(QUESTION, OPTIONS)):
        with pytest.raises(ModelServerError, match="is not Ollama"):
            call()


def test_the_server_dies_while_answering() -> None:
    script = {"replies": [{"steps": [{"text": "One"}, {"stall": True}]}]}
    with scripted_ollama(script) as server, pytest.raises(ModelStreamError):
        for _token in chat(server).chat(QUESTION, OPTIONS):
            server.stop()


def test_leaving_an_answer_early_ends_the_generation(shared: OllamaHandle) -> None:
    """Else Ollama goes on writing, at full load, what nobody reads."""
    shared.play({"replies": [{"steps": [{"text": "One"}, {"stall": True}, {"text": " two"}]}]})
    with pytest.raises(KeyboardInterrupt), chat(shared).chat(QUESTION, OPTIONS) as stream:
        for _token in stream:
            raise KeyboardInterrupt
    assert shared.ended_early("/api/chat")


def test_proxies_are_not_used_for_this_machine(
    shared: OllamaHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else notes would be sent to whatever HTTP_PROXY names."""
    with scripted_ollama() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        shared.play({})
        server = chat(shared)
        server.version()
        server.complete(QUESTION, OPTIONS)
        assert proxy.requests() == []
    assert len(shared.requests()) == 2


def test_our_config_decides_the_host(shared: OllamaHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")
    shared.play({})
    assert read(shared) == "A scripted reply."


def test_a_host_that_is_no_address() -> None:
    with pytest.raises(ConfigError, match=r"ollama\.host"):
        OllamaChat(OllamaSettings(host="http://127.0.0.1:99999"))


# ------------------------------------------------------------------------------ the real model


@pytest.mark.llm
@pytest.mark.slow
def test_a_real_model_answers(real_ollama: OllamaHandle) -> None:
    server = OllamaChat(OllamaSettings(host=real_ollama.url))
    assert CHAT_MODEL in server.models()
    length = server.info(CHAT_MODEL).context_length
    assert length is not None and length >= 2048
    options = ChatOptions(CHAT_MODEL, num_ctx=2048, temperature=0.0, max_tokens=12)
    question = [Message("user", "What is the capital of France? Answer in one word.")]
    with server.chat(question, options) as stream:
        text = "".join(stream)
    assert "Paris" in text
    assert stream.usage.completion_tokens is not None and stream.usage.prompt_tokens is not None
    assert 0 < stream.usage.completion_tokens <= 12
