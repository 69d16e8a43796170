"""Ids by the million: arrays of shape (n, 16), uint8, instead of UUID objects."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

IdArray: TypeAlias = NDArray[np.uint8]
"""uint8, shape (n, 16)."""


def from_uuids(ids: Iterable[UUID]) -> IdArray:
    return np.frombuffer(b"".join([i.bytes for i in ids]), np.uint8).reshape(-1, 16)


def to_uuids(ids: IdArray) -> list[UUID]:
    data = np.ascontiguousarray(ids).tobytes()
    return [UUID(bytes=data[at : at + 16]) for at in range(0, len(data), 16)]


def sort_order(ids: IdArray) -> NDArray[np.int64]:
    """The order that sorts ids as UUIDs sort, equal ones as they stand."""
    high, low = _words(ids)
    return np.lexsort((low, high))


def is_sorted(ids: IdArray) -> bool:
    high, low = _words(ids)
    rises = (high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] >= low[:-1]))
    return bool(rises.all())


def number(ids: IdArray) -> tuple[IdArray, NDArray[np.int32]]:
    """The different ids in their order, and for each given id its place among them."""
    high, low = _words(ids)
    order = np.lexsort((low, high))
    high, low = high[order], low[order]
    is_first = np.ones(len(ids), bool)
    is_first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    codes = np.empty(len(ids), np.int32)
    codes[order] = np.cumsum(is_first, dtype=np.int32) - 1
    return ids[order[is_first]], codes


def find(table: IdArray, wanted: IdArray) -> NDArray[np.int64]:
    """Where each wanted id stands in a table of different ids; -1 where it doesn't."""
    _, codes = number(np.concatenate([table, wanted]))
    places = np.full(len(codes), -1, np.int64)
    places[codes[: len(table)]] = np.arange(len(table))
    return places[codes[len(table) :]]


def find_uuids(table: IdArray, wanted: Sequence[UUID]) -> NDArray[np.int64]:
    return find(table, from_uuids(wanted))


def _words(ids: IdArray) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    words = np.ascontiguousarray(ids).view(">u8").astype(np.uint64)
    return words[:, 0], words[:, 1]
