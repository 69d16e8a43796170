"""Sets of questions with gold passages, and the datasets that hold their passages.

A set is a folder with `passages.jsonl` and `questions.jsonl`: `{id, doc_id, order, title, text, date?, scope?}` and
`{id, question, answers, gold_ids, type, scope?, stale_ids?}`. A passage becomes a document of its own, so that what is
found is compared by source; a scope (one chat, one meeting) becomes a dataset of its own.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

MULTI_HOP = ("hotpotqa", "musique", "2wiki")
LANGUAGES = ("en", "zh", "ar", "es")
SETS = (*MULTI_HOP, *(f"xquad-{language}" for language in LANGUAGES), "supersede", "earnings", "qmsum", "beam")
_SCOPED_BY_DOCUMENT = {"qmsum"}
_DATES = ("%Y-%m-%d", "%B-%d-%Y", "%A, %B %d, %Y", "%B %d, %Y")


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    answers: tuple[str, ...]
    gold: frozenset[str]
    stale: frozenset[str]
    type: str
    dataset: str


@dataclass(frozen=True, slots=True)
class QuestionSet:
    name: str
    passages: dict[str, list[dict[str, Any]]]
    """By dataset."""
    questions: tuple[Question, ...]

    def text_of(self, dataset: str) -> dict[str, str]:
        return {p["id"]: passage_text(p) for p in self.passages[dataset]}


def load(name: str, folder: Path) -> QuestionSet:
    """Read one of `SETS` from the folder that holds them all."""
    place, _, language = name.partition("-")
    dot = f".{language}" if language else ""
    by_dataset: dict[str, list[dict[str, Any]]] = {}
    for passage in _lines(folder / place / f"passages{dot}.jsonl"):
        by_dataset.setdefault(_dataset(name, passage, passage["doc_id"]), []).append(passage)
    questions = tuple(_question(name, row) for row in _lines(folder / place / f"questions{dot}.jsonl"))
    return QuestionSet(name, by_dataset, questions)


def _dataset(name: str, row: dict[str, Any], document: str) -> str:
    scope = row.get("scope") or (document if name in _SCOPED_BY_DOCUMENT else "")
    return f"{name}/{scope}" if scope else name


def _question(name: str, row: dict[str, Any]) -> Question:
    return Question(
        id=row["id"],
        text=row["question"].strip(),
        answers=tuple(row["answers"]),
        gold=frozenset(row["gold_ids"]),
        stale=frozenset(row.get("stale_ids") or ()),
        type=row["type"],
        dataset=_dataset(name, row, ""),
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def passage_text(passage: dict[str, Any]) -> str:
    title = passage.get("title", "")
    return f"{title}\n{passage['text']}" if title else passage["text"]


async def remember_all(question_set: QuestionSet) -> None:
    """Remember and index what is not stored yet."""
    from overstory import SourceDocument, datasets, improve, remember
    from overstory.errors import DatasetNotFoundError

    for dataset, passages in question_set.passages.items():
        try:
            status = await datasets.status(dataset)
        except DatasetNotFoundError:
            status = None
        if status and status.documents == len(passages) and status.generation:
            continue
        documents = [
            SourceDocument(
                passage_text(p), source=p["id"], title=p.get("title", ""), occurred_at=iso(p.get("date", ""))
            )
            for p in passages
        ]
        await remember(documents, dataset, self_improvement=False)
        await improve(dataset, build_global_context_index=True)


def iso(date: str) -> str:
    date = re.sub(r"\s+", " ", date).strip()
    for form in _DATES:
        try:
            return datetime.strptime(date, form).date().isoformat()
        except ValueError:
            continue
    return ""
