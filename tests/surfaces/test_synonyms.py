"""sleuth index synonyms and sleuth index suggest at the shell."""

import json
from pathlib import Path

from tests.commands import sleuth


def test_an_index_gets_synonyms(tmp_path: Path) -> None:
    """A file is checked before it is kept; searches use it, --remove takes it away."""
    (tmp_path / "a.md").write_text("# Kubernetes\n\nKubernetes runs containers.")
    (tmp_path / "words.txt").write_text("k8s, kubernetes\n")
    (tmp_path / "wrong.txt").write_text("k8s\n")
    assert sleuth("index", "a.md", "--embedder", "", cwd=tmp_path).returncode == 0
    assert sleuth("index", "synonyms", cwd=tmp_path).returncode == 1
    assert sleuth("search", "k8s", cwd=tmp_path).returncode == 1
    assert sleuth("index", "synonyms", "wrong.txt", cwd=tmp_path).returncode == 2
    assert sleuth("index", "synonyms", "words.txt", cwd=tmp_path).stdout.startswith("2 words and phrases")
    assert sleuth("index", "synonyms", cwd=tmp_path).stdout == "k8s, kubernetes\n"
    answer = json.loads(sleuth("search", "--json", "k8s", cwd=tmp_path).stdout)
    assert [item["id"] for item in answer["items"]] == ["a.md#0"]
    assert answer["notes"] == ["no passage holds 'k8s'", "'k8s' also stands for: kubernetes"]
    assert sleuth("search", "--no-synonyms", "k8s", cwd=tmp_path).returncode == 1
    assert sleuth("doctor", cwd=tmp_path).returncode == 0
    assert sleuth("index", "synonyms", "--remove", cwd=tmp_path).returncode == 0
    assert sleuth("search", "k8s", cwd=tmp_path).returncode == 1
    assert sleuth("index", "suggest", "kub", cwd=tmp_path).stdout.splitlines() == ["Kubernetes"]
    assert sleuth("index", "suggest", "zzz", cwd=tmp_path).returncode == 1


def test_a_file_of_defaults_names_synonyms(tmp_path: Path) -> None:
    """Searches of documents alone or with code use them, before those of the index; a project names a file below it."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Kubernetes\n\nKubernetes runs containers.")
    (tmp_path / "own.txt").write_text("k8s, clusters\n")
    (tmp_path / "docs" / "words.txt").write_text("k8s, kubernetes\n")
    (tmp_path / "app.py").write_text("def start():\n    return 1\n")
    assert sleuth("index", "docs/a.md", "--embedder", "", cwd=tmp_path).returncode == 0
    assert sleuth("code", "index", ".", cwd=tmp_path).returncode == 0
    assert sleuth("index", "synonyms", "own.txt", cwd=tmp_path).returncode == 0
    assert sleuth("search", "k8s", cwd=tmp_path).returncode == 1
    (tmp_path / "sleuth.toml").write_text('synonyms = "docs/words.txt"\n')
    for sources in ((), ("--in", "docs", "--in", "code")):
        answer = json.loads(sleuth("search", "--json", *sources, "k8s", cwd=tmp_path).stdout)
        assert "docs/a.md#0" in [item["id"] for item in answer["items"]]
        assert "'k8s' also stands for: kubernetes" in answer["notes"]
    assert sleuth("search", "--no-synonyms", "k8s", cwd=tmp_path).returncode == 1
    (tmp_path / "sleuth.toml").write_text('synonyms = "../words.txt"\n')
    refused = sleuth("search", "k8s", cwd=tmp_path)
    assert (refused.returncode, "must be a file below its folder" in refused.stderr) == (2, True)
