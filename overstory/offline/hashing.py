"""Vectors without a model: words and their letter groups, hashed into a fixed number of dimensions.

The hashing trick (Weinberger et al. 2009) with signs, damped counts and character n-grams (as in fastText), so
that `cancelled` and `cancellation` are near. It knows no synonyms: keyword search should lead beside it.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32 as _hash

import numpy as np
from numpy.typing import NDArray

from overstory.models import Vectors
from overstory.offline.terms import is_stop_word, stem, words_of

_LETTERS_WEIGHT = 0.6
"""Of all letter groups of a word together, beside 1 for the word itself."""
_STOP_WORD_WEIGHT = 0.05
_LONGEST_WORD = 40
_MIX = np.uint64(0x9E3779B97F4A7C15)


class HashingEmbedder:
    """The embedder that is always there: no package, no file, the same vectors on every machine."""

    def __init__(self, dimensions: int = 384) -> None:
        self._dimensions = dimensions

    @property
    def model(self) -> str:
        return "hashing"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if len(texts) <= 2:
            return self.embed_now(texts)
        return await asyncio.to_thread(self.embed_now, texts)

    def embed_now(self, texts: Sequence[str]) -> Vectors:
        """The same without waiting, for whoever computes anyway."""
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = _direction(text, self._dimensions)
        return vectors


def _direction(text: str, dimensions: int) -> NDArray[np.float64]:
    counts = Counter(words_of(text)) or Counter([text.strip()[:_LONGEST_WORD]])
    parts = [_hashes(word) for word in counts]
    sizes = [len(part) for part in parts]
    mixed = np.concatenate(parts) * _MIX
    signs = np.where(mixed >> np.uint64(63), 1.0, -1.0)
    places = ((mixed >> np.uint64(31)) & np.uint64(0xFFFFFFFF)) % np.uint64(dimensions)
    weights = signs * _weights(counts, sizes)
    total = np.bincount(places.astype(np.int64), weights=weights, minlength=dimensions)
    length = math.sqrt(float(total @ total))
    if length < 1e-9:  # signs can cancel out in a text of very few words
        total[_hash(text.encode("utf-8", "surrogatepass")) % dimensions] = length = 1.0
    return total / length


def _weights(counts: Counter[str], sizes: list[int]) -> NDArray[np.float64]:
    """For each word its own weight, followed by that of each of its letter groups."""
    words = np.array([_weight(word, count) for word, count in counts.items()])
    groups = np.array(sizes) - 1
    weights = np.repeat(words * _LETTERS_WEIGHT / np.sqrt(np.maximum(groups, 1)), sizes)
    weights[np.cumsum(sizes) - sizes] = words
    return weights


def _weight(word: str, count: int) -> float:
    damped = 1.0 + math.log(count) if count > 1 else 1.0
    return damped * _STOP_WORD_WEIGHT if is_stop_word(word) else damped


@lru_cache(maxsize=50_000)
def _hashes(word: str) -> NDArray[np.uint64]:
    """Hashes of a word's stem and of its groups of three to five letters."""
    word = word[:_LONGEST_WORD]
    own = stem(word).encode("utf-8", "surrogatepass")
    groups = _groups(f"<{word}>")
    return np.array([_hash(own), *map(_hash, groups)], dtype=np.uint64)


def _groups(padded: str) -> list[bytes]:
    if len(padded) < 5:
        return []
    groups = [padded[i : i + n] for n in (3, 4, 5) for i in range(len(padded) - n + 1)]
    return [group.encode("utf-8", "surrogatepass") for group in groups]
