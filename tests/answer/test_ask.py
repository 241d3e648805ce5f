"""The commands ask, summarize and plugins, run as processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sleuth import Engine
from sleuth.answer import SummarySynthesizer
from sleuth.llm import LLMGenerator
from sleuth.results import Grade
from sleuth.testing.ollama import OllamaServer
from tests.code.conftest import write
from tests.commands import sleuth


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("ask")
    guide = "# Guide\n\nTokens are refilled every second.\n\nA bucket holds fifty tokens.\n"
    write(home / "docs", {"guide.md": guide, "cats.txt": "Cats \x1b[31msleep\u202e most of the day.\n"})
    process = sleuth("index", "docs", cwd=home)
    assert process.returncode == 0, process.stderr
    return home


def test_ask_without_a_model(home: Path) -> None:
    """Sentences of the passages answer, followed by numbered sources with path and lines."""
    process = sleuth("ask", "when are tokens refilled?", cwd=home, OLLAMA_HOST="")
    assert process.returncode == 0, process.stderr
    first, _, heading, *quote = process.stdout.splitlines()
    assert first == "Likely answers, quoted, since no language model is configured:"
    assert heading == "Guide [1]"
    assert quote[:2] == ["> **Tokens are refilled every second.**", "> A bucket holds fifty tokens."]
    rest = quote[2:]
    assert any(line.startswith("[1] ") and "guide.md:" in line for line in rest)


def test_ask_with_a_model(home: Path) -> None:
    """The answer of the model is printed with the sources that it cites; --show-context prints the passages."""
    with OllamaServer(reply=lambda prompt: "Every second [1].") as server:
        environment = {"OLLAMA_HOST": server.url, "SLEUTH_MODEL": "llama3.1"}
        process = sleuth(
            "ask", "--show-context", "how", "often", "are tokens refilled?", cwd=home, **environment
        )
        assert process.returncode == 0, process.stderr
        assert process.stdout.startswith("Every second [1].\n\n[1] ")
        assert "A bucket holds fifty tokens." in process.stdout
        assert server.payloads("/api/generate")[0]["options"] == {"num_ctx": 8192}
        output = json.loads(sleuth("ask", "--json", "tokens", cwd=home, **environment).stdout)
        assert output["response"] == "Every second [1]."
        assert output["items"] is None
        assert (output["extra"]["citations"][0]["number"], output["extra"]["is_cut"]) == (1, False)
        server.fail("cut", always=True)  # the model's limit of tokens ended the answer
        assert "the answer is cut off" in sleuth("ask", "tokens", cwd=home, **environment).stderr


def test_nothing_hidden_reaches_the_terminal(home: Path) -> None:
    """Control characters and direction marks of a document are not printed."""
    process = sleuth("ask", "--show-context", "cats", cwd=home)
    assert "Cats [31msleep most of the day. [1]" in process.stdout
    assert not {"\x1b", "\u202e"} & set(process.stdout)


def test_ask_failures(home: Path) -> None:
    """The exit code is 1 without an answer, 2 for an empty question, and 5 for a missing model, with the command that
    helps.
    """
    assert sleuth("ask", "zzqqxx", cwd=home).returncode == 1
    assert sleuth("ask", " ", cwd=home).returncode == 2
    process = sleuth("ask", "-m", "llama3.1", "tokens", cwd=home, OLLAMA_HOST="127.0.0.1:9")
    assert process.returncode == 5
    assert "ollama serve" in process.stderr
    process = sleuth("ask", "--in", "docs", "--in", "web", "tokens", cwd=home, TAVILY_API_KEY="")
    assert "sleuth: web failed: no API key" in process.stderr
    with OllamaServer(reply=lambda prompt: "" if "Question: cats" in prompt else "So it is.") as server:
        process = sleuth("ask", "-m", "llama3.1", "cats", cwd=home, OLLAMA_HOST=server.url)
        assert (process.returncode, process.stdout, "model wrote no answer" in process.stderr) == (
            5,
            "",
            True,
        )
        server.fail("late-error")
        process = sleuth("ask", "-m", "llama3.1", "tokens", cwd=home, OLLAMA_HOST=server.url)
        assert (process.returncode, process.stdout) == (5, "So it is.\n")


def test_summarize(home: Path) -> None:
    """A document, or the passages of a question, are summarized with and without a model."""
    process = sleuth("index", "summarize", "docs/guide.md", cwd=home)
    assert process.returncode == 0, process.stderr
    assert "- Tokens are refilled every second." in process.stdout
    about = ("index", "summarize", "--about", "cats", "-m", "llama3.1", "--json")
    with OllamaServer(reply=lambda prompt: f"- {len(prompt)}") as server:
        process = sleuth(*about, cwd=home, OLLAMA_HOST=server.url)
        output = json.loads(process.stdout)
        assert output["summary"].startswith("- ")
        assert output["citations"][0]["number"] == 1
        assert "most of the day." in server.payloads("/api/generate")[0]["prompt"]
    assert sleuth("index", "summarize", "docs/nothing.md", cwd=home).returncode == 2
    assert sleuth("index", "summarize", cwd=home).returncode == 2


def test_summaries_take_the_path_of_answers(home: Path) -> None:
    """A summary about a question is streamed, corrected, graded, and cites items that were retrieved."""
    pieces: list[str] = []
    with (
        Engine.open(home / ".sleuth") as engine,
        OllamaServer(reply=lambda _: "- Cats sleep.\n- Dogs bark.") as server,
    ):
        writer = SummarySynthesizer(LLMGenerator("llama3.1", base_url=server.url))
        result = engine.search("what does a buckett hold", 2, synthesizer=writer, on_text=pieces.append)
        assert server.payloads("/api/generate")[0]["stream"]
    assert "".join(pieces) == result.response
    assert len(pieces) > 2
    assert result.extra["corrected_query"] == "what does a bucket hold"
    assert result.extra["citations"][0]["ids"] == result.used_source_ids[:1]
    assert result.extra["unsupported"] == ["Dogs bark."]
    assert result.grade is Grade.MAY_HELP


def test_a_model_rates_its_answer(home: Path) -> None:
    """The judgement is streamed below the answer and its sources, and is in the JSON; without a model it is refused."""

    def reply(prompt: str) -> str:
        return "Rating: 9. It says when." if "Rate the relevance" in prompt else "Every second [1]."

    question = ("ask", "--rate", "when are tokens refilled?")
    with OllamaServer(reply=reply) as server:
        environment = {"OLLAMA_HOST": server.url, "SLEUTH_MODEL": "llama3.1"}
        process = sleuth(*question, cwd=home, **environment)
        assert process.returncode == 0, process.stderr
        assert process.stdout.startswith("Every second [1].")
        assert process.stdout.rstrip().endswith("Rating: 9. It says when.")
        assert [payload["stream"] for payload in server.payloads("/api/generate")] == [True, True]
        answer = json.loads(sleuth(*question, "--json", cwd=home, **environment).stdout)
    assert answer["extra"]["rating"]["value"] == 9
    assert answer["extra"]["citations"][0]["number"] == 1
    process = sleuth(*question, cwd=home)
    assert process.returncode == 2
    assert "--model NAME" in process.stderr


def test_plugins(home: Path) -> None:
    """`doctor plugins` lists the plugins of a folder, with the error of each that fails."""
    hook = "from sleuth.hooks import hook\n@hook('indiana_jones_retrieve', priority=3)\ndef f(result, *a, rag2f): ...\n"
    write(home / "plugins", {"good.py": hook, "broken.py": "import no_such_package"})
    process = sleuth("doctor", "plugins", "--json", "--folder", "plugins", cwd=home)
    broken, good = json.loads(process.stdout)["plugins"]
    assert (process.returncode, broken["status"], good["status"]) == (1, "failed", "active")
    assert "ModuleNotFoundError: No module named 'no_such_package'" in broken["error"]
    assert good["hooks"] == [{"name": "indiana_jones_retrieve", "priority": 3}]


def test_doctor_reports_models(home: Path) -> None:
    """Doctor reports whether Ollama answers and which models it has."""
    with OllamaServer() as server:
        findings = json.loads(sleuth("doctor", "--json", cwd=home, OLLAMA_HOST=server.url).stdout)
    (diagnosis,) = (finding for finding in findings if finding["subject"] == "ollama")
    assert diagnosis["level"] == "ok"
    assert "llama3.1:latest, nomic-embed-text:latest" in diagnosis["message"]
