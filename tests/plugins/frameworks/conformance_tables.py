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
from sleuth.plugins.frameworks.tables import to_rows
from tests.documents import stored

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
    "polars": lambda folder: pl.DataFrame(COLUMNS), "arrow": lambda folder: pa.table(COLUMNS),
    "a reader of arrow": lambda folder: pa.table(COLUMNS).to_reader(),
    "a data set": lambda folder: datasets.Dataset.from_dict(COLUMNS),
    "a stream of a data set": lambda folder: datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(),
    "a saved data set": _saved, "parquet": _parquet, "feather": _feather, "json lines": _json,
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_gives_equal_documents(kind: str, tmp_path: Path) -> None:
    """`Engine.add` takes text, id and metadata; a missing value is a missing key."""
    with Engine.open(tmp_path / "index", create=True) as engine:
        assert engine.add(TABLES[kind](tmp_path)).added == 3
        assert stored(engine) == {
            id: (text, {key: value for key, value in (("year", year), ("tags", tags)) if value is not None})
            for id, text, year, tags in zip(*COLUMNS.values(), strict=True)
        }


def test_dates_and_categories_become_metadata(tmp_path: Path) -> None:
    """Filters compare times, a category is its text, a missing number no key, and a named index a column."""
    frame = pd.DataFrame(
        {
            "text": ["A bucket.", "A link."],
            "date": pd.to_datetime(["2021-05-01", None]),
            "kind": pd.Categorical(["pail", "url"]),
            "weight": [1.5, None],
        },
        index=pd.Index(["x", "y"], name="key"),
    )
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.add(frame)
        assert engine.count("date>=2021-01-01 kind:pail").documents == 1
        (url,) = (metadata for _, metadata in stored(engine).values() if metadata["kind"] == "url")
        assert url == {"kind": "url", "key": "y"}


def test_results_become_a_data_frame(tmp_path: Path) -> None:
    """Every kind of frame has a row for each result, with the metadata as columns."""
    with Engine.open(tmp_path / "index", create=True) as engine:
        assert engine.add(pl.DataFrame(COLUMNS)).added == 3
        ranking = engine.retrieve("bucket user moon", 3)
    rows = to_rows(ranking)
    frame = pd.DataFrame(rows)
    assert list(frame["rank"]) == [1, 2, 3]
    ids = [item.document_id for item in ranking]
    assert list(frame["document_id"]) == pl.DataFrame(rows)["document_id"].to_list() == ids
    years = dict(zip(frame["document_id"], frame["year"].fillna(0), strict=True))
    assert years == {"a": 2021, "b": 2020, "c": 0}
    assert pa.Table.from_pylist(rows).column_names == list(frame.columns)


def test_a_folder_of_splits_is_named(tmp_path: Path) -> None:
    """A data set with splits says which there are, on the disk and in memory."""
    splits = datasets.DatasetDict({"train": datasets.Dataset.from_dict(COLUMNS)})
    splits.save_to_disk(tmp_path / "all")
    with Engine.open(tmp_path / "index", create=True) as engine:
        for documents in (tmp_path / "all", splits):
            with pytest.raises(ArgumentError, match="train"):
                engine.add(documents)
        assert engine.add(tmp_path / "all" / "train").added == 3


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """Damaged Arrow and Parquet are refused with their path."""
    with Engine.open(tmp_path / "index", create=True) as engine:
        for name in ("x.arrow", "x.parquet"):
            (tmp_path / name).write_bytes(b"ARROW1 no such file")
            with pytest.raises(ArgumentError, match=name):
                engine.add(tmp_path / name)
