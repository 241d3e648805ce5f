"""What does `OnnxEmbedder` cost above the model itself? Passages a CPU second, on one thread.

    python -m benchmarks.neural_speed MODEL [--set scifact] [--texts 64]

ONNX Runtime alone runs over texts that are tokenised before, 1, 8 and 32 of similar length at a time;
`OnnxEmbedder` tokenises as well. A query is one text at a time. All take turns; figures are medians of three rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.quality import DATA
from sleuth.evaluate import open_collection
from sleuth.plugins.neural import OnnxEmbedder

ROUNDS = 3
LENGTHS = {"whole": None, "first 200 characters": 200, "first 60 characters": 60}


class Model:
    """An encoder in ONNX Runtime, without our code."""

    def __init__(self, folder: Any) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(folder.file), options)
        self._names = {each.name for each in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(folder.path / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(folder.max_tokens)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of each text's tokens, longest text first."""
        return sorted((self._tokenizer.encode(text).ids for text in texts), key=len, reverse=True)

    def run(self, tokens: Sequence[Sequence[int]], size: int) -> None:
        """Run the model over all texts, `size` of them at a time."""
        for start in range(0, len(tokens), size):
            batch = tokens[start : start + size]
            ids = np.zeros((len(batch), len(batch[0])), np.int64)
            mask = np.zeros_like(ids)
            for row, numbers in enumerate(batch):
                ids[row, : len(numbers)], mask[row, : len(numbers)] = numbers, 1
            arrays: dict[str, Any] = {
                "input_ids": ids,
                "attention_mask": mask,
                "token_type_ids": np.zeros_like(ids),
            }
            self._session.run(None, {name: arrays[name] for name in self._names})


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def rates(model: Model, embedder: OnnxEmbedder, texts: list[str]) -> list[float]:
    """Return texts a CPU second: the model in runs of 1, 8 and 32, then the embedder."""
    tokens = model.tokens(texts)
    ways: list[Callable[[], object]] = [
        lambda: model.run(tokens, 1),
        lambda: model.run(tokens, 8),
        lambda: model.run(tokens, 32),
        lambda: embedder.embed_documents(texts),
    ]
    seconds = [[cpu(way) for way in ways] for _ in range(ROUNDS)]
    return [len(texts) / statistics.median(column) for column in zip(*seconds, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="name or folder of an encoder")
    parser.add_argument("--set", default="scifact", help="collection whose texts are embedded")
    parser.add_argument("--texts", type=int, default=64)
    options = parser.parse_args()
    embedder = OnnxEmbedder(options.model, threads=1)
    model = Model(embedder.folder)
    collection = open_collection(DATA / options.set)
    documents = [
        document.text for document, _ in zip(collection.documents(), range(options.texts), strict=False)
    ]
    print("| texts | tokens each | ONNX Runtime alone, runs of 1 | of 8 | of 32 | `OnnxEmbedder` |")
    print("|---" * 6 + "|")
    for name, length in LENGTHS.items():
        texts = [text[:length] for text in documents]
        count = statistics.fmean(map(len, model.tokens(texts)))
        row = [f"{rate:.3g}" for rate in rates(model, embedder, texts)]
        print(f"| {name} | {count:.0f} | " + " | ".join(row) + " |", flush=True)
    queries = list(collection.queries.values())[: options.texts]
    seconds = [cpu(partial(embedder.embed_query, query)) for query in queries]
    print(f"\nA query takes {statistics.median(seconds) * 1000:.1f} ms.")


if __name__ == "__main__":
    main()
