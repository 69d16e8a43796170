"""The short memory of a conversation: what every store keeps of one, and how."""

import json
from dataclasses import replace
from uuid import UUID

from overstory import ids
from overstory.errors import StoreDamagedError
from overstory.models import Turn

KEPT_TURNS = 8
MAX_ANSWER_CHARACTERS = 2_000


def session_key(user_id: UUID, session_id: str) -> UUID:
    return ids.make_id("session", user_id, session_id)


def shortened(turn: Turn) -> Turn:
    """What is kept of a turn."""
    return replace(turn, answer=turn.answer[:MAX_ANSWER_CHARACTERS])


def dump_turn(turn: Turn) -> str:
    kept = shortened(turn)
    return json.dumps([kept.question, kept.answer, [str(d) for d in kept.dataset_ids]], ensure_ascii=False)


def load_turn(body: str, place: str) -> Turn:
    """What `dump_turn` wrote.

    Raises:
        StoreDamagedError: it can't be that.
    """
    try:
        question, answer, dataset_ids = json.loads(body)
        return Turn(question=question, answer=answer, dataset_ids=tuple(map(UUID, dataset_ids)))
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreDamagedError(f"{place}: a conversation can't be read: erase it to begin a new one.") from error
