"""What a context holds at equal tokens, with the prelude counted in: gold sentences, the current value, planted facts."""

import random
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from benchmarks.measuring import Table, interval
from benchmarks.question_sets import MULTI_HOP, WHOLE, Question, QuestionSet

BUDGETS = (500, 1_000, 2_000, 4_000)
WHOLE_BUDGETS = (1_000, 2_000, 4_000)
LONG = ("qmsum", "earnings", "beam")
BROAD_FROM = 3
"""Gold passages from which on a question about a long text is a broad one."""
PLAIN = {"include_global_context_index": True, "global_context_index_mode": "plain"}
ADAPTIVE = {**PLAIN, "global_context_index_mode": "adaptive"}
SYSTEMS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "nearest chunks": ("RAG_COMPLETION", None),
    "graph": ("GRAPH_COMPLETION", None),
    "graph + plain prelude": ("GRAPH_COMPLETION", PLAIN),
    "graph + adaptive prelude": ("GRAPH_COMPLETION", ADAPTIVE),
    "hybrid": ("HYBRID_COMPLETION", None),
    "hybrid + plain prelude": ("HYBRID_COMPLETION", PLAIN),
    "hybrid + adaptive prelude": ("HYBRID_COMPLETION", ADAPTIVE),
}
LOCAL = ("graph", "hybrid")
_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")
_WORD = re.compile(r"\w+")
_SHORTEST = 25
"""Characters: what is shorter stands in many texts."""
_STEM = 5
_COVERED = 0.6
"""Share of a fact's words that two neighbouring sentences must have to say it."""
Asked = Sequence[tuple[Question, dict[str, str]]]
"""Questions, each with the texts of its dataset."""


class Context(NamedTuple):
    text: str
    tokens: int
    sources: frozenset[str]


EMPTY = Context("", 0, frozenset())


async def context_of(question: Question, system: str, budget: int | None) -> Context:
    from overstory import recall

    query_type, config = SYSTEMS[system]
    found = await recall(
        question.text,
        query_type,
        datasets=question.dataset,
        top_k=50,
        only_context=True,
        context_token_budget=budget,
        retriever_specific_config=config,
    )
    if not found:
        return EMPTY
    evidence = found[0].evidence
    areas = [*evidence.areas, *([evidence.root] if evidence.root else [])]
    sources = {passage.source for passage in evidence.passages}.union(*(area.sources for area in areas))
    return Context(found[0].text.partition("context:\n\n")[2], evidence.context_tokens, frozenset(sources))


async def with_random_sentences(question: Question, texts: dict[str, str], local: str, budget: int) -> Context:
    """The control: three quarters of local evidence, then sentences drawn at random."""
    from overstory.tokens import estimate_tokens

    context, _, sources = await context_of(question, local, budget - budget // 4)
    sentences = [(s, source) for source, text in texts.items() for s in sentences_of(text)]
    random.Random(question.id).shuffle(sentences)
    for sentence, source in sentences:
        longer = f"{context}\n- {sentence}"
        if estimate_tokens(longer) > budget:
            break
        context, sources = longer, sources | {source}
    return Context(context, estimate_tokens(context), sources)


async def contexts_of(question: Question, texts: dict[str, str], budget: int) -> dict[str, Context]:
    found = {system: await context_of(question, system, budget) for system in SYSTEMS}
    controls = {
        f"{local} + random sentences": await with_random_sentences(question, texts, local, budget) for local in LOCAL
    }
    return found | controls


def plain(text: str) -> str:
    return " ".join(text.replace("\\", "").split()).casefold()


def sentences_of(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE.split(text) if len(sentence) > _SHORTEST]


# --- gold sentences --------------------------------------------------------------------------------


class Held(NamedTuple):
    """What a context holds of the gold passages; None where a question can't tell."""

    touched: float
    """Share of the passages of which a sentence is in it."""
    all: float
    key: float | None
    """Whether the sentence is in it that has most words of the answer."""
    only_old: float | None
    """Whether a superseded value is in it, and the one that holds is not."""


class Gold:
    """The gold passages of one question as sentences, and the words of its answer."""

    def __init__(self, question: Question, texts: dict[str, str]) -> None:
        self.passages = [s for gold in sorted(question.gold) if (s := list(map(plain, sentences_of(texts[gold]))))]
        self.stale = [s for old in sorted(question.stale) if (s := list(map(plain, sentences_of(texts[old]))))]
        answer = words_in(" ".join(question.answers))
        sentences = [sentence for passage in self.passages for sentence in passage]
        self.key = max(sentences, key=lambda s: len(answer & words_in(s))) if answer and sentences else ""

    def judge(self, context: Context) -> Held:
        seen = plain(context.text)
        touched = [any(sentence in seen for sentence in sentences) for sentences in self.passages]
        old = any(sentence in seen for sentences in self.stale for sentence in sentences)
        return Held(
            statistics.fmean(touched),
            float(all(touched)),
            float(self.key in seen) if self.key else None,
            float(old and not any(touched)) if self.stale else None,
        )


def words_in(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def groups_of(loaded: Sequence[QuestionSet]) -> dict[str, Asked]:
    """Questions with gold passages by kind, each with the texts of its dataset."""
    groups: dict[str, list[tuple[Question, dict[str, str]]]] = {}
    for one in loaded:
        texts = {name: {p["id"]: p["text"] for p in passages} for name, passages in one.passages.items()}
        for question in one.questions:
            if question.gold and question.dataset in texts and Gold(question, texts[question.dataset]).passages:
                groups.setdefault(_kind(one.name, question), []).append((question, texts[question.dataset]))
    return {kind: asked for kind, asked in groups.items() if kind}


def _kind(name: str, question: Question) -> str:
    if name in MULTI_HOP:
        return "multi-hop"
    if name in LONG:
        return "broad" if len(question.gold) >= BROAD_FROM else "narrow, long texts"
    return "changing state" if name == "supersede" else ""


async def measure_contexts(table: Table, lane: str, loaded: Sequence[QuestionSet], limit: int) -> None:
    for kind, asked in groups_of(loaded).items():
        chosen = some_of(asked, limit)
        judges = [Gold(*one).judge for one in chosen]
        for budget in BUDGETS:
            await _measure(table, f"{lane} {kind} ({len(chosen)})", chosen, judges, budget)


def some_of(asked: Asked, limit: int) -> Asked:
    """At most so many, drawn alike in every run."""
    return random.Random(1).sample(asked, min(limit, len(asked)))


def _add(
    table: Table, what: str, names: Sequence[str], rows: Sequence[Sequence[Any]], local: Sequence[Sequence[Any]]
) -> None:
    """The means of the figures, and what each gains on local evidence alone."""
    told, figures, gains = [], [], []
    for place, name in enumerate(names):
        pairs = [(row[place], other[place]) for row, other in zip(rows, local, strict=True) if row[place] is not None]
        if pairs:
            told.append(name.replace("_", " "))
            figures.append(f"{statistics.fmean(value for value, _ in pairs):.3f}")
            gains.append(f"{told[-1]} {interval([value - other for value, other in pairs])}")
    table.add(f"{what}: {', '.join(told)}", ", ".join(figures), "" if rows is local else ", ".join(gains))


# --- planted facts ---------------------------------------------------------------------------------


class Coverage(NamedTuple):
    """What a context says of a dataset as a whole; None where a question names no facts."""

    facts: float | None
    """Share of the facts, most of whose words two neighbouring sentences have."""
    words: float | None
    """Share of the facts' words that are in it."""
    documents: float
    """Share of the dataset's documents that it draws on."""
    tokens: float


def facts_of(question: Question) -> list[set[str]]:
    """The planted facts, or the sentences of the reference answer, as the beginnings of their words."""
    texts = question.facts or [s for answer in question.answers for s in _SENTENCE.split(answer)]
    return [stems for text in texts if (stems := stems_of(text))]


def stems_of(text: str) -> set[str]:
    from overstory.words import query_words

    return {word[:_STEM] for word in query_words(text)}


def coverage(facts: Iterable[set[str]], context: Context, documents: int) -> Coverage:
    facts = list(facts)
    sentences = [stems_of(sentence) for sentence in _SENTENCE.split(context.text)]
    windows = [one | other for one, other in zip(sentences, [*sentences[1:], set()], strict=True)]
    said = [max((len(fact & window) / len(fact) for window in windows), default=0.0) >= _COVERED for fact in facts]
    wanted, seen = set().union(*facts), set().union(*sentences)
    return Coverage(
        statistics.fmean(said) if facts else None,
        len(wanted & seen) / len(wanted) if wanted else None,
        len(context.sources) / documents,
        context.tokens,
    )


async def measure_coverage(table: Table, lane: str, loaded: Sequence[QuestionSet], limit: int) -> None:
    for one in loaded:
        texts = {name: {p["id"]: p["text"] for p in passages} for name, passages in one.passages.items()}
        asked = [(q, texts[q.dataset]) for q in one.questions if q.dataset in texts and _asks_for_facts(one.name, q)]
        chosen = some_of(asked, limit)
        judges = [partial(coverage, facts_of(q), documents=len(documents)) for q, documents in chosen]
        for budget in WHOLE_BUDGETS if chosen else ():
            await _measure(table, f"{lane} {one.name}, planted facts ({len(chosen)})", chosen, judges, budget)


def _asks_for_facts(name: str, question: Question) -> bool:
    """Questions about a whole dataset: of corpora, summaries of meetings and chats, figures over several calls."""
    return {
        **dict.fromkeys(WHOLE, True),
        "qmsum": question.type == "global",
        "beam": question.type in ("summarization", "event_ordering", "multi_session_reasoning"),
        "earnings": True,
    }.get(name, False)


# --- both ------------------------------------------------------------------------------------------

Judge = Callable[[Context], Held | Coverage]
"""What a context holds of what one question asks for."""


async def _measure(table: Table, what: str, asked: Asked, judges: Sequence[Judge], budget: int) -> None:
    """Every system's contexts of some questions, each judged by the question's own judge."""
    held: dict[str, list[Held | Coverage]] = {}
    for (question, texts), judge in zip(asked, judges, strict=True):
        for system, context in (await contexts_of(question, texts, budget)).items():
            held.setdefault(system, []).append(judge(context))
    for system, rows in held.items():
        local = held.get(system.partition(" +")[0], rows)
        _add(table, f"{what} at {budget:,}: {system}", rows[0]._fields, rows, local)
