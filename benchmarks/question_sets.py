"""Sets of questions with what a good context holds, and the datasets that they are asked of.

In `qa/`, a set is a folder with `passages.jsonl` and `questions.jsonl`: `{id, doc_id, order, title, text, date?, scope?}`
and `{id, question, answers, gold_ids, type, scope?, stale_ids?, rubric?}`. A passage becomes a document of its own, so
that what is found is compared by source; a scope (one chat, one meeting) becomes a dataset of its own.

In `corpora/`, `sense_questions.jsonl` and `thematic_questions.jsonl` ask about a folder as a whole: `{id, corpus,
question, rubric?}`. The rubric lists the facts that an answer should hold.
"""

import dataclasses
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

MULTI_HOP = ("hotpotqa", "musique", "2wiki")
LANGUAGES = ("en", "zh", "ar", "es")
WHOLE = ("sense", "thematic")
"""Of whole datasets, without gold passages."""
SETS = (*MULTI_HOP, *(f"xquad-{language}" for language in LANGUAGES), "supersede", "earnings", "qmsum", "beam", *WHOLE)
_SCOPED_BY_DOCUMENT = {"qmsum"}
_DATES = ("%Y-%m-%d", "%B-%d-%Y", "%A, %B %d, %Y", "%B %d, %Y")
_TEXTS = (".md", ".txt")
_NEEDED_PART = 0.75
"""At most so much of a cut is what its questions need, so that there is something else to find."""


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    answers: tuple[str, ...]
    gold: frozenset[str]
    stale: frozenset[str]
    type: str
    dataset: str
    facts: tuple[str, ...] = ()
    """What a good answer holds, where it is more than a few words."""

    @property
    def needed(self) -> frozenset[str]:
        """The passages without which the question can't be asked."""
        return self.gold | self.stale


@dataclass(frozen=True, slots=True)
class QuestionSet:
    name: str
    passages: dict[str, list[dict[str, Any]]]
    """By dataset."""
    questions: tuple[Question, ...]

    def half(self, which: str) -> "QuestionSet":
        """The questions at "odd" or at "even" places among those with gold, and among the others; or "all"."""
        if which == "all":
            return self
        groups = ([q for q in self.questions if bool(q.gold) is has_gold] for has_gold in (True, False))
        kept = tuple(q for group in groups for place, q in enumerate(group) if (place % 2 == 1) is (which == "odd"))
        return dataclasses.replace(self, questions=kept)

    def cut(self, characters: int) -> "QuestionSet":
        """About so much of it: the smallest datasets; of one that is larger, what its first questions need, and others."""
        left, kept = characters, {}
        for dataset, passages in sorted(self.passages.items(), key=lambda item: (_size(item[1]), item[0])):
            if kept and _size(passages) > left:
                break
            kept[dataset] = self._some(dataset, passages, left)
            left -= _size(kept[dataset])
        held = {dataset: {p["id"] for p in passages} for dataset, passages in kept.items()}
        asked = tuple(q for q in self.questions if q.dataset in held and q.needed <= held[q.dataset])
        return QuestionSet(self.name, kept, asked)

    def _some(self, dataset: str, passages: list[dict[str, Any]], characters: int) -> list[dict[str, Any]]:
        """In the order of the dataset: the passages of questions, up to three quarters, then others drawn alike."""
        sizes = {p["id"]: len(p["text"]) for p in passages}
        if sum(sizes.values()) <= characters:
            return passages
        wanted: frozenset[str] = frozenset()
        for question in self.questions:
            more = wanted | question.needed if question.dataset == dataset else wanted
            if sum(sizes[one] for one in more) > characters * _NEEDED_PART:
                break
            wanted = more
        others = random.Random(1).sample([one for one in sizes if one not in wanted], len(sizes) - len(wanted))
        room = characters - sum(sizes[one] for one in wanted)
        ends = accumulate(sizes[one] for one in others)
        chosen = wanted.union(one for one, end in zip(others, ends, strict=True) if end <= room)
        return [p for p in passages if p["id"] in chosen]


def _size(passages: list[dict[str, Any]]) -> int:
    return sum(len(p["text"]) for p in passages)


def load(name: str, data: Path) -> QuestionSet:
    """Read one of `SETS` from the folder that holds `qa/` and `corpora/`."""
    if name in WHOLE:
        return _load_whole(name, data)
    place, _, language = name.partition("-")
    dot = f".{language}" if language else ""
    by_dataset: dict[str, list[dict[str, Any]]] = {}
    for passage in _lines(data / "qa" / place / f"passages{dot}.jsonl"):
        by_dataset.setdefault(_dataset(name, passage, passage["doc_id"]), []).append(passage)
    questions = tuple(_question(name, row) for row in _lines(data / "qa" / place / f"questions{dot}.jsonl"))
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
        facts=tuple(row.get("rubric") or ()),
    )


def _load_whole(name: str, data: Path) -> QuestionSet:
    """Questions about folders of files; those that compare versions of a folder are left out."""
    passages: dict[str, list[dict[str, Any]]] = {}
    questions = []
    for row in _lines(data / "corpora" / f"{name}_questions.jsonl"):
        corpus = row["corpus"] if "/" in row["corpus"] else f"corpora/{row['corpus']}"
        if (data / corpus / "v1").is_dir():
            continue
        passages.setdefault(corpus, list(_files(data / corpus)))
        facts = tuple(row.get("rubric") or ())
        questions.append(Question(row["id"], row["question"], (), frozenset(), frozenset(), name, corpus, facts))
    return QuestionSet(name, passages, tuple(questions))


def _files(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _TEXTS):
        yield {"id": str(path.relative_to(folder)), "text": path.read_text(encoding="utf-8"), "date": path.stem}


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
