"""What the models of this plugin share: one in ONNX is run with its tokenizer, on few threads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sleuth import platform
from sleuth.arguments import check_count
from sleuth.errors import ArgumentError, EmbeddingError, requires
from sleuth.plugins.neural.folder import Kind, ModelFolder

TOKENS_OF_A_RUN = 512
"""Tokens of one run of the model, padding included. One thread reads long texts fastest one by one, and 8 short ones
together (docs/measured/neural.md)."""
MOST_THREADS = 4

Text = str | tuple[str, str]
"""A text, or a query with a passage."""


_LETTERS = re.compile(r"[A-Za-z]+")
_GIBBERISH_SHARE = 0.5
"""Of the letters of a query, in pieces of one or two letters, above which it counts as gibberish."""


class OnnxModel:
    """A model in a folder with its tokenizer, loaded when it is first used. Safe to share between threads.

    Args:
        model: a folder, or the name of a model that is installed (`sleuth index models`).
        threads: for one run of the model; None for as many as this process may use, at most four.

    Attributes:
        kind: of the models that a class runs.
        folder: of the model.

    Raises:
        MissingPackageError: the extra `neural` is not installed.
        EmbeddingError: there is no such model; gives the command that gets it.
        ArgumentError: the folder holds another kind of model, or a file in it cannot be read.
    """

    kind: ClassVar[Kind]

    def __init__(self, model: str | Path, *, threads: int | None = None) -> None:
        self.folder = ModelFolder.open(model)
        if self.folder.kind != self.kind:
            raise ArgumentError(
                f"model must be of the kind {self.kind!r}, got the {self.folder.kind} {self.folder.name!r}"
            )
        purpose = f"The model {self.folder.name!r}"
        # Else ONNX Runtime sends events, and writes to the home folder.
        with requires("onnxruntime and tokenizers", "neural", purpose, ORT_DISABLE_TELEMETRY="1"):
            import onnxruntime  # noqa: F401
            import tokenizers  # noqa: F401
        self._threads = (
            min(MOST_THREADS, platform.cores())
            if threads is None
            else check_count(threads, "threads", least=1)
        )
        self._loading = Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.folder.name!r})"

    @cached_property
    def _digest(self) -> str:
        """The first 16 hex digits of the SHA-256 of model and tokenizer."""
        return hashlib.sha256(b"".join(map(bytes.fromhex, self._checksums.values()))).hexdigest()[:16]

    @cached_property
    def _checksums(self) -> dict[Path, str]:
        """SHA-256 of model and tokenizer, in hex."""
        checksums = {}
        for path in (self.folder.file, self.folder.tokenizer):
            with path.open("rb") as file:
                checksums[path] = hashlib.file_digest(file, "sha256").hexdigest()
        return checksums

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self.folder.tokenizer))
        except Exception as error:  # the package raises Exception itself
            raise self._failure("tokenizer", error) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.folder.max_tokens)
        return tokenizer

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        for path, checksum in self.folder.checksums.items():
            if self._checksums[path] != checksum:
                raise EmbeddingError(
                    f"{path} must have the SHA-256 {checksum}, got {self._checksums[path]}: "
                    "pip install --force-reinstall 'sleuth[best]'",
                    service=self.folder.name,
                )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting costs no CPU time
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(
                str(self.folder.file), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the package's own classes derive from Exception
            raise self._failure("model", error) from error

    @cached_property
    def _inputs(self) -> frozenset[str]:
        return frozenset(model_input.name for model_input in self._session.get_inputs())

    @cached_property
    def _output(self) -> str:
        """The output to read: a vector of the whole text where the model gives one, else its first."""
        names = [model_output.name for model_output in self._session.get_outputs()]
        return "sentence_embedding" if "sentence_embedding" in names else names[0]

    def has_meaning(self, query: str) -> bool:
        """Return whether the tokenizer knows words of a query; gibberish falls into parts of one or two letters.

        Such parts of words hold more than half of the Latin letters in 96 of 100 queries of random letters with the
        tokenizer of BERT, and in 1 of 1,000 questions of test collections (docs/measured/neural.md). Other scripts
        always have a meaning.
        """
        short_letters = total_letters = 0
        for word in _LETTERS.findall(query):
            parts = self._encoded(word).offsets
            total_letters += len(word)
            if len(parts) > 1:
                short_letters += sum(end - start for start, end in parts if end - start <= 2)
        return short_letters <= _GIBBERISH_SHARE * total_letters

    def _encoded(self, text: str) -> Any:
        """Return the encoding of a text, without the tokens that frame it."""
        with self._loading:
            tokenizer = self._tokenizer
        return tokenizer.encode(text, add_special_tokens=False)

    def _run(self, texts: Sequence[Text]) -> Iterator[tuple[list[int], NDArray[Any], NDArray[np.int64]]]:
        """Yield places of texts, what the model gives for them, and their masks; texts of similar length run together.

        Yields:
            places: of the texts of one run, n of them.
            output: shape (n, ...), as the model has it.
            mask: shape (n, tokens): 1 where a token is.

        Raises:
            EmbeddingError: the model does not load, or fails.
        """
        with self._loading:
            tokenizer, session, inputs = self._tokenizer, self._session, self._inputs
        # One by one: a batch would use threads of the tokenizer's own, as many as there are processors.
        encodings = [tokenizer.encode(*([text] if isinstance(text, str) else text)) for text in texts]
        order = sorted(range(len(texts)), key=lambda place: -len(encodings[place].ids))
        start = 0
        while start < len(order):
            longest = max(1, len(encodings[order[start]].ids))
            places = order[start : start + max(1, TOKENS_OF_A_RUN // longest)]
            start += len(places)
            arrays = {  # each of shape (n, tokens), padded with zeros that the mask hides
                name: np.zeros((len(places), longest), np.int64)
                for name in ("input_ids", "attention_mask", "token_type_ids")
            }
            for row, place in enumerate(places):
                encoding, n = encodings[place], len(encodings[place].ids)
                arrays["input_ids"][row, :n] = encoding.ids
                arrays["attention_mask"][row, :n] = 1
                arrays["token_type_ids"][row, :n] = encoding.type_ids
            try:
                (output,) = session.run(
                    [self._output], {name: arrays[name] for name in inputs & arrays.keys()}
                )
            except Exception as error:  # the package's own classes derive from Exception
                raise self._failure("model", error) from error
            yield places, output, arrays["attention_mask"]

    def _failure(self, part: str, error: Exception) -> EmbeddingError:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        return EmbeddingError(f"the {part} in {self.folder.path} failed: {reason}", service=self.folder.name)
