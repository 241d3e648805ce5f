"""`sleuth kb` on the local index and at AWS."""

import json
from pathlib import Path

import pytest

from sleuth.testing.aws import BedrockServer
from tests.code.conftest import write
from tests.commands import sleuth
from tests.knowledge_base.conftest import DS, KB


@pytest.fixture
def home(tmp_path: Path) -> Path:
    judy = "# Judy\n\nPictures of Judy at the lake.\n"
    topic = '{"metadataAttributes": {"topic": "genealogy"}}'
    files = {"judy.md": judy, "judy.md.metadata.json": topic, "tides.txt": "Tides and harbours.\n"}
    write(tmp_path / "letters", files)
    assert sleuth("index", "letters/tides.txt", cwd=tmp_path).returncode == 0
    return tmp_path


def test_on_this_machine(home: Path) -> None:
    """A folder is ingested into the index, searched with a filter, and its status is printed."""
    process = sleuth("kb", "ingest", "--source-id", "letters", "--folder", "letters", cwd=home)
    assert process.returncode == 0, process.stderr
    assert "NewDocumentsIndexed: 2" in process.stdout
    result = sleuth("kb", "search", "judy", "--filter", "topic:genealogy", "--json", cwd=home)
    answer = json.loads(result.stdout)
    assert [part["name"] for part in answer["report"]] == ["filtered", "unfiltered"]
    uri = answer["results"][0]["location"]["s3Location"]["uri"]
    assert uri.endswith("/letters/judy.md")
    status = sleuth("kb", "status", "--source-id", "letters", uri, cwd=home)
    assert status.stdout.split() == ["INDEXED", uri]
    assert sleuth("kb", "ingest", "--source-id", "letters", cwd=home).returncode == 2
    for more in (("--options", '{"overrideSearchType": "HYBRID"}'), ("--managed",)):
        assert json.loads(sleuth("kb", "search", "judy", "--json", *more, cwd=home).stdout)["results"]
    for wrong, why in (
        ('{"overrideSearchType": "BOTH"}', "overrideSearchType must be HYBRID or SEMANTIC"),
        ('{"overrideSearch": "HYBRID"}', "overrideSearch"),
        ("[]", "--options must be a JSON object"),
        ("{", "--options must be a JSON object"),
    ):
        refused = sleuth("kb", "search", "judy", "--options", wrong, cwd=home)
        assert (refused.returncode > 1, why in refused.stderr) == (True, True), refused.stderr


def test_a_fresh_folder_gets_an_index(tmp_path: Path) -> None:
    """`kb ingest` creates a missing index; a search does not."""
    write(tmp_path / "letters", {"judy.txt": "Pictures of Judy at the lake.\n"})
    assert sleuth("kb", "search", "judy", cwd=tmp_path).returncode == 3
    process = sleuth("kb", "ingest", "--source-id", "letters", "--folder", "letters", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert "judy.txt" in sleuth("kb", "search", "judy", cwd=tmp_path).stdout


def test_without_a_region(tmp_path: Path) -> None:
    """`--aws` without a region says how to set one, and how to do without AWS."""
    result = sleuth("kb", "search", "judy", "--aws", "--kb", KB, cwd=tmp_path)
    assert result.returncode == 5
    assert "AWS_REGION=us-east-1" in result.stderr
    assert "leave out --aws" in result.stderr


def test_at_aws(aws: BedrockServer, tmp_path: Path) -> None:
    """The same commands with --aws use AWS; errors name the slice and the reason."""
    names = ("--aws", "--kb", KB, "--source-id", DS)
    query = ("pictures of judy", "--filter", "topic:genealogy", "--timeout", "60")
    result = sleuth("kb", "search", *query, *names, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "s3://bucket/judy.txt" in result.stdout
    status = sleuth("kb", "status", *names[:3], cwd=tmp_path)
    assert DS in status.stdout
    for command in (("search", "judy"), ("status",), ("ingest", "--source-id", DS)):
        missing = sleuth("kb", *command, "--aws", "--kb", "KB00000000", cwd=tmp_path)
        assert missing.returncode == 5
        assert "sleuth: knowledge base 'KB00000000' was not found" in missing.stderr
