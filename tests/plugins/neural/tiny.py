"""Tiny models in ONNX, written by hand: an encoder of random token vectors, a cross-encoder that counts common words.

ONNX is protocol buffers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3 has the numbers of the fields.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = [
    *SPECIAL, "a", "b", "c", "d", "e", "one", "another", "text", "tokens", "refilled", "limiter", "token",
    "bucket",
]  # fmt: skip
FLOAT, INT64 = 1, 7
_KINDS = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64}


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | str | bytes) -> bytes:
    """Return a field: an int as a varint, text and messages with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def node(kind: str, inputs: Sequence[str], output: str, **attributes: int) -> bytes:
    """Return a NodeProto; attributes are ints (AttributeProto of type 2)."""
    parts = [field(1, name) for name in inputs] + [field(2, output), field(4, kind)]
    parts += [field(5, field(1, name) + field(3, value) + field(20, 2)) for name, value in attributes.items()]
    return b"".join(parts)


def tensor(name: str, array: NDArray[Any]) -> bytes:
    dims = b"".join(field(1, n) for n in array.shape)
    return dims + field(2, _KINDS[array.dtype]) + field(8, name) + field(9, array.tobytes())


def value(name: str, kind: int, *dims: int | str) -> bytes:
    shape = b"".join(field(1, field(1 if isinstance(n, int) else 2, n)) for n in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def model(nodes: Sequence[bytes], constants: Sequence[bytes], inputs: Sequence[str], output: bytes) -> bytes:
    graph = b"".join(field(1, each) for each in nodes) + field(2, "tiny")
    graph += b"".join(field(5, each) for each in constants)
    graph += b"".join(field(11, value(name, INT64, "batch", "tokens")) for name in inputs)
    return field(1, 8) + field(8, field(2, 17)) + field(7, graph + field(12, output))


def encoder(dimension: int = 8, words: int = len(WORDS), table: NDArray[np.float32] | None = None) -> bytes:
    """An encoder whose token vectors are rows of a table: `last_hidden_state`, shape (batch, tokens, dimension)."""
    if table is None:
        table = np.random.default_rng(5).standard_normal((words, dimension)).astype(np.float32)
    dimension = table.shape[1]
    nodes = [node("Gather", ["table", "input_ids"], "last_hidden_state")]
    output = value("last_hidden_state", FLOAT, "batch", "tokens", dimension)
    return model(nodes, [tensor("table", table)], ["input_ids", "attention_mask"], output)


def sparse_encoder() -> bytes:
    """A masked language model: each word stands for itself, "token" also for "bucket", and nothing for the frame."""
    table = np.full((len(WORDS), len(WORDS)), -1, np.float32)
    for word in WORDS[len(SPECIAL) :]:
        table[WORDS.index(word), WORDS.index(word)] = 5
    table[WORDS.index("token"), WORDS.index("bucket")] = 1.5
    return encoder(table=table)


def cross_encoder() -> bytes:
    """A cross-encoder whose logit is how many pairs of equal words query and passage have, less 2."""
    one, two = np.array([1], np.int64), np.array([2], np.int64)
    nodes = [
        node("Cast", ["token_type_ids"], "in_passage", to=FLOAT),
        node("Cast", ["attention_mask"], "mask", to=FLOAT),
        node("Sub", ["mask", "in_passage"], "in_query"),
        node("Unsqueeze", ["input_ids", "two"], "left"),
        node("Unsqueeze", ["input_ids", "one"], "right"), node("Equal", ["left", "right"], "equal"),
        node("Cast", ["equal"], "pairs", to=FLOAT), node("Unsqueeze", ["in_query", "two"], "query"),
        node("Unsqueeze", ["in_passage", "one"], "passage"),
        node("Mul", ["pairs", "query"], "of_query"), node("Mul", ["of_query", "passage"], "common"),
        node("ReduceSum", ["common", "two"], "by_token", keepdims=0),
        node("ReduceSum", ["by_token", "one"], "sum"), node("Sub", ["sum", "bias"], "logits"),
    ]  # fmt: skip
    constants = [tensor("one", one), tensor("two", two), tensor("bias", np.array([3], np.float32))]
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    return model(nodes, constants, inputs, value("logits", FLOAT, "batch", 1))


def tokenizer() -> str:
    """Return the tokenizer.json of words between blanks, as BERT frames them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    result = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token=SPECIAL[1]))
    result.pre_tokenizer = pre_tokenizers.Whitespace()
    result.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return result.to_str()


def write(folder: Path, raw: bytes, **files: Any) -> Path:
    """Write a model folder; `files` are JSON by name, with "." as "__" and "/" as "___"."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(raw)
    (folder / "tokenizer.json").write_text(tokenizer())
    for name, content in files.items():
        path = folder / f"{name.replace('___', '/')}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


def write_encoder(folder: Path, **files: Any) -> Path:
    """Write the folder of a tiny encoder whose pooling is the mean."""
    files.setdefault(
        "1_Pooling___config", {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
    )
    return write(folder, encoder(), **files)


def write_sparse_encoder(folder: Path, **files: Any) -> Path:
    """Write the folder of a tiny sparse encoder."""
    return write(folder, sparse_encoder(), config={"architectures": ["BertForMaskedLM"]}, **files)


def write_cross_encoder(folder: Path, **files: Any) -> Path:
    """Write the folder of a tiny cross-encoder."""
    return write(
        folder, cross_encoder(), config={"architectures": ["BertForSequenceClassification"]}, **files
    )
