"""The short memory of a conversation: what every store keeps of one, and how."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from overstory import ids
from overstory.errors import StoreDamagedError
from overstory.models import Turn

KEPT_TURNS = 8
MAX_ANSWER_CHARACTERS = 2_000


def session_key(user_id: UUID, session_id: str) -> UUID:
    return ids.make_id("session", user_id, session_id)


def extended(turns: Iterable[Turn], turn: Turn) -> tuple[Turn, ...]:
    """The turns with one more, its answer cut to what is kept; the oldest beyond `KEPT_TURNS` go."""
    return (*turns, replace(turn, answer=turn.answer[:MAX_ANSWER_CHARACTERS]))[-KEPT_TURNS:]


def datasets_of(turns: Iterable[Turn]) -> list[UUID]:
    return sorted({dataset_id for turn in turns for dataset_id in turn.dataset_ids})


def dump(turns: Sequence[Turn]) -> str:
    return json.dumps([(t.question, t.answer, [str(d) for d in t.dataset_ids]) for t in turns], ensure_ascii=False)


def load(body: str, place: str) -> tuple[Turn, ...]:
    """What `dump` wrote.

    Raises:
        StoreDamagedError: it can't be that.
    """
    try:
        return tuple(
            Turn(question=question, answer=answer, dataset_ids=tuple(map(UUID, dataset_ids)))
            for question, answer, dataset_ids in json.loads(body)
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreDamagedError(f"{place}: a conversation can't be read: erase it to begin a new one.") from error


def load_without(body: str, dataset_id: UUID) -> tuple[tuple[Turn, ...], int]:
    """What stays of a conversation when a dataset is forgotten, and how many turns do not.

    Nothing stays of one that can't be read: nobody could say that it holds none.
    """
    try:
        turns = load(body, "")
    except StoreDamagedError:
        return (), 1
    kept = tuple(turn for turn in turns if dataset_id not in turn.dataset_ids)
    return kept, len(turns) - len(kept)
