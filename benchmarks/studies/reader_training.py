"""Trains a small reader: a cross-encoder that says whether a text answers a question.

    python -m benchmarks.studies.reader_training FOLDER --start FOLDER --pairs FILE ... [--held-out FILE]
        [--epochs 3] [--seeds 1]

--start is a BERT encoder as PyTorch keeps it, such as all-MiniLM-L6-v2 (`config.json`, `model.safetensors` and
`tokenizer.json`; Apache 2.0). --pairs are files of `reader_pairs.py`. Every 20th question takes no part, and neither do
the pairs of --held-out: they tell which of the models of --seeds is the best. Writes a folder that
`OnnxCrossEncoder` opens: `model.onnx` with weights in 8 bits (23 MB), `tokenizer.json` and `config.json`.

Needs torch, transformers, onnx and onnxruntime. Runs on a GPU where torch sees one, else on the CPU: three epochs of
185,000 pairs take 42 s on an H200. The terms of the collections hold for the weights, so the project ships none.

Vectors of words keep their values, since the pairs hold few of the words; all other weights learn. Each source weighs
by the square root of its size.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

LENGTH: Final = 192
"""Tokens of question and text together; few pairs have more."""
BATCH_TOKENS: Final = 16_384
RATE: Final = 1e-4
WARM_UP: Final = 0.1
"""Share of the steps in which the rate grows."""


class Pair(NamedTuple):
    """A question and a text, as numbers of tokens.

    Attributes:
        tokens, segments: numbers of tokens, and 0 for those of the question, 1 for those of the text.
        label: 1 if the text answers.
        weight: in the loss.
    """

    tokens: list[int]
    segments: list[int]
    label: int
    weight: float
    question: str
    source: str


def read_pairs(files: Sequence[Path], tokenizer: Any) -> list[Pair]:
    rows = [json.loads(line) for file in files for line in file.open(encoding="utf8")]
    counts = Counter((row["source"], row["label"]) for row in rows)
    encodings = tokenizer.encode_batch([(row["question"], row["text"]) for row in rows])
    mean = math.sqrt(len(rows) / len(counts))
    return [
        Pair(
            encoding.ids,
            encoding.type_ids,
            row["label"],
            mean / math.sqrt(counts[row["source"], row["label"]]),
            row["question"],
            row["source"],
        )
        for row, encoding in zip(rows, encodings, strict=True)
    ]


def batches(pairs: Sequence[Pair], rng: random.Random) -> Iterator[list[Pair]]:
    """Yield all pairs in batches of about as many tokens, those of similar lengths together, in random order."""
    order = sorted(pairs, key=lambda pair: (len(pair.tokens) // 8, rng.random()))
    groups, batch = list[list[Pair]](), list[Pair]()
    for pair in order:
        if batch and (len(batch) + 1) * len(pair.tokens) > BATCH_TOKENS:
            groups.append(batch)
            batch = []
        batch.append(pair)
    groups.append(batch)
    rng.shuffle(groups)
    yield from groups


def tensors(batch: Sequence[Pair], device: str) -> dict[str, Any]:
    import torch

    longest = max(len(pair.tokens) for pair in batch)
    arrays = np.zeros((3, len(batch), longest), np.int64)
    for row, pair in enumerate(batch):
        n = len(pair.tokens)
        arrays[:, row, :n] = pair.tokens, [1] * n, pair.segments
    names = ("input_ids", "attention_mask", "token_type_ids")
    return {name: torch.from_numpy(array).to(device) for name, array in zip(names, arrays, strict=True)}


def train(start: Path, pairs: Sequence[Pair], epochs: int, seed: int, most_steps: int) -> Any:
    """Return a model that was trained on pairs."""
    import torch
    from transformers import AutoModelForSequenceClassification

    torch.manual_seed(seed)
    rng = random.Random(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = AutoModelForSequenceClassification.from_pretrained(
        start, num_labels=1, attn_implementation="eager"
    ).to(device)
    model.base_model.embeddings.word_embeddings.weight.requires_grad_(False)
    learning = [weights for weights in model.parameters() if weights.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=RATE, weight_decay=0.01)
    plan = [batch for _ in range(epochs) for batch in batches(pairs, rng)][:most_steps]
    warm = max(1, int(WARM_UP * len(plan)))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (len(plan) - step) / max(1, len(plan) - warm))
    )
    began, losses = time.time(), list[Any]()
    for step, batch in enumerate(plan):
        model.train()
        labels = torch.tensor([float(pair.label) for pair in batch], device=device)
        weights = torch.tensor([pair.weight for pair in batch], device=device)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            logits = model(**tensors(batch, device)).logits[:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits.float(), labels, weights)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        if (step + 1) % max(1, len(plan) // 12) == 0:
            mean = torch.stack(losses).mean().item()
            print(f"step {step + 1} of {len(plan)}: loss {mean:.3f}, {time.time() - began:.0f} s", flush=True)
            losses = []
    return model


def scores(model: Any, pairs: Sequence[Pair]) -> np.ndarray[Any, Any]:
    """Return a logit for each pair, shape (len(pairs),)."""
    import torch

    model.eval()
    device = next(model.parameters()).device.type
    order = sorted(range(len(pairs)), key=lambda place: len(pairs[place].tokens))
    logits = np.zeros(len(pairs))
    with torch.no_grad():
        for start in range(0, len(order), 128):
            places = order[start : start + 128]
            logits[places] = (
                model(**tensors([pairs[place] for place in places], device))
                .logits[:, 0]
                .float()
                .cpu()
                .numpy()
            )
    return logits


def area(logits: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> float:
    """Return the area under the ROC curve; NaN if all labels are equal."""
    ranks = np.empty(len(logits))
    ranks[np.argsort(logits)] = np.arange(1, len(logits) + 1)
    right = int(labels.sum())
    pairs = right * (len(labels) - right)
    return float((ranks[labels == 1].sum() - right * (right + 1) / 2) / pairs) if pairs else math.nan


def report(model: Any, pairs: Sequence[Pair]) -> float:
    """Print for each source how well the model tells texts that answer from others, and return the mean."""
    logits = scores(model, pairs)
    places: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        places[pair.source.partition(",")[0]].append(place)
    areas = []
    for source, rows in places.items():
        labels = np.array([pairs[row].label for row in rows])
        best: dict[str, tuple[float, int]] = {}
        answerable = {pairs[row].question for row in rows if pairs[row].label}
        for row in rows:
            pair = pairs[row]
            best[pair.question] = max(best.get(pair.question, (-math.inf, 0)), (logits[row], pair.label))
        first = [label for question, (_, label) in best.items() if question in answerable]
        tops = np.array([score for score, _ in best.values()])
        is_answerable = np.array([question in answerable for question in best], int)
        areas.append(area(logits[rows], labels))
        print(
            f"{source}: {len(rows)} pairs, area {areas[-1]:.3f}; "
            f"first text right {sum(first) / max(1, len(first)):.3f} of {len(first)}; "
            f"area for questions with an answer {area(tops, is_answerable):.3f}",
            flush=True,
        )
    return float(np.nanmean(areas))


def export(model: Any, start: Path, folder: Path) -> None:
    """Write a model with weights in 8 bits, and what `sleuth.plugins.neural` needs beside it."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    folder.mkdir(parents=True, exist_ok=True)
    names = ("input_ids", "attention_mask", "token_type_ids")
    example = tuple(torch.ones((2, 16), dtype=torch.int64) for _ in names)

    model = model.float().cpu().eval()
    model.config.return_dict = False  # so that it gives a tuple
    whole = folder / "float.onnx"
    axes = {name: {0: "texts", 1: "tokens"} for name in names} | {"logits": {0: "texts"}}
    torch.onnx.export(
        model, example, str(whole), input_names=list(names), output_names=["logits"], dynamic_axes=axes,
        opset_version=17, dynamo=False,
    )  # fmt: skip
    quantize_dynamic(str(whole), str(folder / "model.onnx"), weight_type=QuantType.QInt8, per_channel=True)
    whole.unlink()
    config = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "max_position_embeddings": 512,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", "utf8")
    shutil.copy(start / "tokenizer.json", folder / "tokenizer.json")


def main() -> None:
    from tokenizers import Tokenizer

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="to write")
    parser.add_argument("--start", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--held-out", type=Path, metavar="FILE")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[1], help="the best of these models is written"
    )
    parser.add_argument("--most-steps", type=int, metavar="N", help="stop after so many, to try it out")
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(options.start / "tokenizer.json"))
    tokenizer.enable_truncation(LENGTH, strategy="only_second")
    tokenizer.no_padding()
    pairs = read_pairs(options.pairs, tokenizer)
    apart = [zlib.crc32(pair.question.encode()) % 20 == 0 for pair in pairs]
    held_out = [pair for pair, is_apart in zip(pairs, apart, strict=True) if is_apart]
    if options.held_out:
        held_out += read_pairs([options.held_out], tokenizer)
    learning = [pair for pair, is_apart in zip(pairs, apart, strict=True) if not is_apart]
    print(f"{len(learning)} pairs to learn from, {len(held_out)} held out", flush=True)
    best: tuple[float, int, Any] = (-1.0, 0, None)
    for seed in options.seeds:
        model = train(options.start, learning, options.epochs, seed, options.most_steps or 10**9)
        mean = report(model, held_out)
        print(f"seed {seed}: mean area {mean:.4f}", flush=True)
        best = max(best, (mean, seed, model), key=lambda each: each[0])
    export(best[2], options.start, options.folder)


if __name__ == "__main__":
    main()
