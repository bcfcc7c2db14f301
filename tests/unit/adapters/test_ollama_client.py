"""Addresses, and the one table of what can go wrong on the way to Ollama."""

from __future__ import annotations

import httpx
import ollama
import pytest

from ragvault.adapters.ollama.client import (
    OllamaServer,
    base_url,
    is_loopback,
    same_model,
)
from ragvault.config.settings import OllamaSettings
from ragvault.errors import (
    ConfigError,
    ModelError,
    ModelMissingError,
    ModelServerError,
    NoModelServerError,
)

URL = "http://127.0.0.1:11434"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("http://127.0.0.1:11434", URL),
        ("http://127.0.0.1:11434/", URL),
        ("127.0.0.1", URL),
        ("localhost:1234", "http://localhost:1234"),
        ("http://example.org", "http://example.org:80"),
        ("https://example.org/ollama/", "https://example.org:443/ollama"),
        ("0.0.0.0:11434", URL),
        ("[::1]:11434", "http://[::1]:11434"),
        ("http://[::]:11434", "http://[::1]:11434"),
        (":5000", "http://127.0.0.1:5000"),
        ("", URL),
    ],
)
def test_a_host_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert base_url(OllamaSettings(host=host).host) == url


@pytest.mark.parametrize("host", ["http://x:notaport", "ftp://x", "http://[::1", "not an address"])
def test_what_is_no_host_is_a_config_error(host: str) -> None:
    with pytest.raises(ConfigError, match=r"ollama\.host"):
        base_url(host)


def test_loopback_and_not() -> None:
    for url in (URL, "http://localhost:1", "http://[::1]:1", "http://127.8.8.8:1"):
        assert is_loopback(url), url
    for url in ("http://192.168.1.2:1", "http://ollama:11434", "http://localhost.example.org:1"):
        assert not is_loopback(url), url


def test_which_way_a_request_takes_is_said() -> None:
    """The prompt holds the notes' text: a proxy that one has forgotten reads it."""
    near, far = (OllamaServer(OllamaSettings(host=h)).route for h in (URL, "http://10.0.0.7"))
    assert "redirects are refused" in near and "redirects are refused" in far
    assert "no proxy" in near and "environment" in far


def test_a_name_without_a_tag_means_latest() -> None:
    assert same_model("llama3.2", "llama3.2:latest")
    assert same_model("me/model:7b", "me/model:7b")
    assert same_model("host:5000/me/model", "host:5000/me/model:latest")
    assert not same_model("llama3.2", "llama3.2:1b")


def instance(kind: type[Exception]) -> Exception:
    request = httpx.Request("GET", URL)
    if issubclass(kind, httpx.HTTPStatusError):
        return kind("bad", request=request, response=httpx.Response(500, request=request))
    for arguments in (("something broke",), ()):
        try:
            return kind(*arguments)
        except TypeError:
            continue
    raise AssertionError(f"how is {kind} made?")


def exceptions(module: object) -> list[type[Exception]]:
    found = [getattr(module, name) for name in dir(module)]
    return [kind for kind in found if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.mark.parametrize(
    "kind", [*exceptions(httpx), *exceptions(ollama)], ids=lambda kind: kind.__name__
)
def test_no_exception_of_the_libraries_is_left_out(kind: type[Exception]) -> None:
    """A new one in a new version would reach the person as a traceback."""
    error = instance(kind)
    told = explained(error)
    assert isinstance(told, ModelError)
    assert told.message.endswith(".") and "\n" not in told.message
    assert told.hint


def explained(error: Exception) -> ModelError:
    return OllamaServer(OllamaSettings(host=URL, timeout_s=2.0)).explain(error, "m")


def test_the_ways_of_failing_are_told_apart() -> None:
    assert "can't be reached" in explained(httpx.ConnectError("refused")).message
    assert "can't be reached" in explained(httpx.ConnectTimeout("slow")).message
    assert "can't be reached" in explained(ConnectionError("refused")).message
    assert isinstance(explained(ConnectionError("refused")), NoModelServerError)
    assert not isinstance(explained(httpx.ReadTimeout("slow")), NoModelServerError)
    assert "within 2 s" in explained(httpx.ReadTimeout("slow")).message
    assert "broke" in explained(httpx.ReadError("reset")).message
    assert "NO_PROXY" in explained(httpx.ProxyError("403")).hint
    assert "doesn't answer as Ollama does" in explained(AttributeError("get")).message
    missing = explained(ollama.ResponseError('{"error": "model \'m\' not found"}', 404))
    assert isinstance(missing, ModelMissingError)
    other = explained(ollama.ResponseError("404 page not found", 404))
    assert isinstance(other, ModelServerError) and "not Ollama" in other.message
    assert "denies" in explained(ollama.ResponseError("unauthorized", 401)).message
    assert "failed: boom" in explained(ollama.ResponseError('{"error": "boom"}', 500)).message
    long = explained(ollama.ResponseError("line one\n" + "x" * 5000, 500)).message
    assert len(long) < 400
