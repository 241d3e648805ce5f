"""Data frames of pandas and Polars, Arrow, and data sets of Hugging Face on disk: `make conformance`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from sleuth import Engine
from sleuth.errors import ArgumentError
from sleuth.integrations.tables import documents, to_rows
from tests.integrations.documents import check_examples

COLUMNS: dict[str, list[Any]] = {
    "id": ["a", "b", "c"],
    "body": ["A bucket is refilled every second.", "A user logs in with a link.", "Tides follow the moon."],
    "year": [2021, 2020, None],
    "tags": [["x"], [], ["x", "y"]],
}


def _saved(folder: Path) -> Path:
    datasets.Dataset.from_dict(COLUMNS).save_to_disk(folder / "saved", num_shards=2)
    return folder / "saved"


def _parquet(folder: Path) -> Path:
    parquet.write_table(pa.table(COLUMNS), folder / "rows.parquet", row_group_size=2)
    return folder / "rows.parquet"


def _feather(folder: Path) -> Path:
    feather.write_feather(pa.table(COLUMNS), str(folder / "rows.feather"))
    return folder / "rows.feather"


def _json(folder: Path) -> Path:
    pd.DataFrame(COLUMNS).to_json(folder / "rows.jsonl", orient="records", lines=True)
    return folder / "rows.jsonl"


TABLES: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda folder: pd.DataFrame(COLUMNS),
    "pandas with an index": lambda folder: pd.DataFrame(COLUMNS, index=[7, 3, 5]),
    "polars": lambda folder: pl.DataFrame(COLUMNS),
    "arrow": lambda folder: pa.table(COLUMNS),
    "a reader of arrow": lambda folder: pa.table(COLUMNS).to_reader(),
    "a data set": lambda folder: datasets.Dataset.from_dict(COLUMNS),
    "a stream of a data set": lambda folder: datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(),
    "a saved data set": _saved,
    "parquet": _parquet,
    "feather": _feather,
    "json lines": _json,
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_gives_equal_documents(kind: str, tmp_path: Path) -> None:
    """Text, id and metadata come along; a missing value is a missing key."""
    rows = list(documents(TABLES[kind](tmp_path), text_field="body"))
    assert [(row.id, row.page_content) for row in rows] == list(
        zip(COLUMNS["id"], COLUMNS["body"], strict=True)
    )
    assert [{key: row.metadata[key] for key in sorted(row.metadata)} for row in rows] == [
        {"tags": ["x"], "year": 2021},
        {"tags": [], "year": 2020},
        {"tags": ["x", "y"]},
    ]


def test_results_become_a_data_frame(tmp_path: Path) -> None:
    """Every kind of frame has a row for each result, with the metadata as columns."""
    with Engine.open(tmp_path / "index", create=True) as engine:
        assert engine.add(documents(pl.DataFrame(COLUMNS), text_field="body")).added == 3
        ranking = engine.retrieve("bucket user moon", 3)
    rows = to_rows(ranking)
    frame = pd.DataFrame(rows)
    assert list(frame["rank"]) == [1, 2, 3]
    assert (
        list(frame["document_id"])
        == [item.document_id for item in ranking]
        == pl.DataFrame(rows)["document_id"].to_list()
    )
    assert dict(zip(frame["document_id"], frame["year"].fillna(0), strict=True)) == {
        "a": 2021,
        "b": 2020,
        "c": 0,
    }
    assert pa.Table.from_pylist(rows).column_names == list(frame.columns)


def test_no_results_are_no_rows() -> None:
    """An empty ranking is an empty frame."""
    assert pd.DataFrame(to_rows([])).empty


def test_a_row_without_a_text_is_named(tmp_path: Path) -> None:
    """The row's number and its columns are in the message, and rows before it can be added."""
    with pytest.raises(ArgumentError, match=r"row 2 must have a 'text', got None and the fields \['text'\]"):
        list(documents(pd.DataFrame({"text": ["one", None]})))


def test_a_folder_of_splits_is_named(tmp_path: Path) -> None:
    """A data set with splits says which there are."""
    datasets.DatasetDict({"train": datasets.Dataset.from_dict(COLUMNS)}).save_to_disk(tmp_path / "all")
    with pytest.raises(ArgumentError, match="'train'"):
        list(documents(tmp_path / "all", text_field="body"))
    assert len(list(documents(tmp_path / "all" / "train", text_field="body"))) == 3


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """Damaged Arrow and Parquet are refused with their path."""
    for name in ("x.arrow", "x.parquet"):
        (tmp_path / name).write_bytes(b"ARROW1 no such file")
        with pytest.raises(ArgumentError, match=name):
            list(documents(tmp_path / name))


def test_the_guide_is_true(tmp_path: Path) -> None:
    """The examples print what the guide says."""
    check_examples("Data frames", tmp_path)
