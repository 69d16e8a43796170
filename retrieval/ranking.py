"""Which chunks fit a question best: by words, by meaning, by their best sentence, and along the graph.

Scores are fused, not ranks: a weak signal then changes an order by as much as it says, and no more. The weights of
MiniLM were chosen on public question sets, see `docs/evidence.md`; those of hashing were not measured.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from overstory import ids
from overstory.models import Dataset, DocumentChunk, Entity, Hit, TextSummary
from overstory.settings import HASHING
from overstory.telemetry import Kind, step
from overstory.waves import wave
from overstory.words import query_words, words_of

from .projections import UNREAD, Material, measure
from .scene import Scene
from .states import LOOKED_AT, with_current_first

Scores = NDArray[np.float64]

CANDIDATES: Final = 100
"""Chunks that share words with the question, looked at beside those near to it."""
_SENTENCE_END = re.compile(r"(?<=[.!?。！？؟])\s+|(?<=[。！？])|\n+")
_SPEAKER = re.compile(r"^(?:\[[^\]\n]{1,40}\] )?[^\W\d_][\w .'’-]{0,40}: \S", re.MULTILINE)
_TRUST_FROM = 3
_READ_CLOSELY = 60
"""Chunks whose sentences are looked at."""
_DAMPING = 0.5
_ROUNDS = 12
_SEED_CHUNKS = 10
_SEED_ENTITIES_SHARE = 0.7
_STARTS = 3
_FALL = 0.15
"""What each place among the best takes from a start's worth."""
_OPENING_CHARACTERS = 120
_LONGEST_NAME = 5
"""Words of the longest name that is looked for in a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each signal counts beside words, whose best match counts 1."""

    meaning: float
    graph: float = 0.3
    sentence: float = 0.3
    bridge: float = 0.8
    """Of a chunk about a thing that one of the best chunks names."""
    shared: float = 1.0
    """Of a chunk that names a thing which one of the best chunks names, in equal parts with all that do."""
    neighbour: float = 0.2
    """Of a chunk's neighbours, in transcripts alone."""


WEIGHTS: Final = {HASHING: Weights(meaning=0.3)}
DEFAULT_WEIGHTS: Final = Weights(meaning=1.2)


def weights_of(dataset: Dataset) -> Weights:
    """Those of the embedder that its vectors are of."""
    return WEIGHTS.get(dataset.embedding_model, DEFAULT_WEIGHTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Chunks that may answer a question, with what they are judged by; all in one order."""

    chunks: Sequence[DocumentChunk]
    words: Scores
    """BM25; 0 for what shares no word."""
    distances: Scores
    entities: Sequence[frozenset[int]]
    """Of each chunk, as the numbers of their ids, which Python hashes ten times as fast as the ids."""
    named: frozenset[int] = frozenset()
    """The entities that the question may name."""


@step(Kind.RECALL, "rank")
async def rank_chunks(scene: Scene, material: Material, worded: Sequence[Hit], limit: int) -> list[Hit]:
    """The chunks that fit a question best; a higher score is better.

    Args:
        scene: the question and where it is asked.
        material: what is near to the question.
        worded: what shares words with it.
        limit: how many.
    """
    weights = weights_of(scene.dataset)
    candidates = await find_candidates(scene, material, worded, weights)
    if not candidates.chunks:
        return []
    return await asyncio.to_thread(best, candidates, scene.question.search_text, weights, limit)


async def find_candidates(scene: Scene, material: Material, worded: Sequence[Hit], weights: Weights) -> Candidates:
    """What is near to the question, what shares words with it, and what tells of the things that the best of these name."""
    near = {chunk.id: chunk for chunk in material.chunks if chunk.id in material.distances}
    words = {hit.key: hit.score for hit in worded}
    named = entities_named(scene.dataset.id, scene.question.search_text)
    read = await _read(scene, near, [key for key in words if key not in near], material.distances)
    first = _candidates(read, words, named)
    if not read or scene.question.node_names:
        return first
    places = _best_places(first_scores(first, weights))
    steps = sorted(frozenset[int]().union(*(_steps_from(first, place) for place in places)))
    told = await scene.tenant.get(Entity, [UUID(int=step) for step in steps])
    known = {one.chunk.id for one in read}
    further = sorted({entity.chunk_id for entity in told if entity.is_subject} - known)
    return _candidates([*read, *await _read(scene, {}, further, {})], words, named) if further else first


class _Read(NamedTuple):
    chunk: DocumentChunk
    distance: float
    entities: frozenset[int]


async def _read(
    scene: Scene, known: Mapping[UUID, DocumentChunk], others: Sequence[UUID], distances: Mapping[UUID, float]
) -> list[_Read]:
    """Chunks with what they are judged by.

    Args:
        scene: the question and where it is asked.
        known: those that need not be read.
        others: those that must be.
        distances: of `known`.
    """
    tenant, vector, told_in = scene.tenant, await scene.vector.get(), [ids.summary_id(key) for key in (*known, *others)]
    async with wave() as group:
        rows = group.create_task(tenant.get(DocumentChunk, others, without=UNREAD[DocumentChunk]))
        far = group.create_task(measure(tenant, DocumentChunk, others, vector))
        summaries = group.create_task(tenant.get(TextSummary, told_in, without=("node_set",)))
    measured = {**distances, **far.result()}
    named = {one.chunk_id: frozenset([entity.int for entity in one.entity_ids]) for one in summaries.result()}
    chunks = (*known.values(), *rows.result())
    return [_Read(chunk, measured.get(chunk.id, 1.0), named.get(chunk.id, frozenset())) for chunk in chunks]


def _candidates(read: Iterable[_Read], words: Mapping[UUID, float], named: frozenset[int]) -> Candidates:
    in_order = sorted(read, key=lambda one: one.chunk.id)
    return Candidates(
        chunks=[one.chunk for one in in_order],
        words=np.array([words.get(one.chunk.id, 0.0) for one in in_order]),
        distances=np.array([one.distance for one in in_order]),
        entities=[one.entities for one in in_order],
        named=named,
    )


def entities_named(dataset_id: UUID, question: str) -> frozenset[int]:
    """Numbers of the entities that a question would name with its words, whether there are such or not."""
    words = question.split()
    spans = (words[i : i + n] for n in range(1, _LONGEST_NAME + 1) for i in range(len(words) - n + 1))
    names = {
        name.removesuffix(end)
        for span in spans
        for name in [" ".join(span).strip("?!.,;:")]
        for end in ("", "'s", "’s")
    }
    return frozenset(ids.entity_id(dataset_id, name).int for name in names if name)


def best(candidates: Candidates, question: str, weights: Weights, limit: int) -> list[Hit]:
    """The candidates with the highest scores; ties by id."""
    scores = fused_scores(candidates, question, weights)
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], candidates.chunks[i].id))
    sentences = _telling_sentences([candidates.chunks[i].text for i in order[:LOOKED_AT]], question)
    told = dict(zip(order, sentences, strict=False))
    texts = [told.get(i, "") for i in range(len(order))]
    order = with_current_first(order, candidates.chunks, texts, question)
    # what was lifted has the score of what it was lifted over
    falling = np.minimum.accumulate([max(scores[i] for i in order[n:]) for n in range(min(limit, len(order)))])
    return [Hit(candidates.chunks[i].id, float(score)) for i, score in zip(order, falling, strict=False)]


def _telling_sentences(texts: Sequence[str], question: str) -> list[str]:
    """The sentence of each text that shares most words with the question, without its dates; the longest of equal ones."""
    wanted = frozenset(word for word in query_words(question) if word.isalpha())
    return [
        max(
            _SENTENCE_END.split(text),
            key=lambda sentence: (len(wanted.intersection(words_of(sentence))), len(sentence)),
        )
        for text in texts
    ]


def fused_scores(candidates: Candidates, question: str, weights: Weights) -> Scores:
    """One score a candidate, higher for a better one."""
    scores = first_scores(candidates, weights)
    if weights.sentence:
        scores = scores + weights.sentence * _best_sentences(candidates.chunks, scores, question)
    if weights.graph:
        scores = scores + weights.graph * page_rank(candidates, scores)
    if weights.bridge or weights.shared:
        starts = best_starts(candidates, scores)
        scores = scores + weights.bridge * bridges(candidates, starts) + weights.shared * sharing(starts, len(scores))
    if weights.neighbour:
        scores = scores + weights.neighbour * _lift(candidates.chunks, scores)
    return scores


def first_scores(candidates: Candidates, weights: Weights) -> Scores:
    """By words and meaning alone."""
    words, meaning = _share_of_best(candidates.words), _spread(1.0 - candidates.distances)
    scores: Scores = words + weights.meaning * _trust(words, meaning) * meaning
    return scores


def _trust(words: Scores, meaning: Scores) -> float:
    """How far the vectors may be trusted, 0 to 1: less where what has the question's words is far from it.

    That is so in a language, or of a matter, that the embedding model does not know.
    """
    if not words.any():
        return 1.0
    best_by_words = np.argsort(-words, kind="stable")[:_TRUST_FROM]
    return math.sqrt(float(meaning[best_by_words].mean()))


def _share_of_best(values: Scores) -> Scores:
    top = values.max(initial=0.0)
    shares: Scores = values / top if top > 0 else values
    return shares


def _spread(values: Scores) -> Scores:
    low, high = values.min(), values.max()
    spread: Scores = (values - low) / (high - low) if high > low else np.ones_like(values)
    return spread


# --- the best sentence -----------------------------------------------------------------------------


def _best_sentences(chunks: Sequence[DocumentChunk], scores: Scores, question: str) -> Scores:
    """What their best sentence adds to those of the chunks that have a chance; 0 for the others."""
    added = np.zeros(len(scores))
    likely = np.argsort(-scores, kind="stable")[:_READ_CLOSELY]
    added[likely] = best_sentences([chunks[i].text for i in likely], question)
    return added


def best_sentences(texts: Sequence[str], question: str) -> Scores:
    """For each text, the share of the question's words that its best sentence has; rare words weigh more."""
    wanted = frozenset(query_words(question))
    bags = [[wanted.intersection(words_of(sentence)) for sentence in _SENTENCE_END.split(text)] for text in texts]
    weights = word_weights(wanted, [frozenset().union(*sentences) for sentences in bags])
    total = sum(weights.values()) or 1.0
    shares = [max((sum(weights[word] for word in bag) for bag in sentences), default=0.0) for sentences in bags]
    return np.array(shares) / total


def word_weights(words: frozenset[str], bags: Sequence[frozenset[str]]) -> dict[str, float]:
    """The inverse document frequency of words among texts, each given by those of the words that it has."""
    frequency = Counter(word for bag in bags for word in bag)
    return {word: math.log(1 + (len(bags) + 1) / (frequency[word] + 1)) for word in sorted(words)}


# --- along the graph -------------------------------------------------------------------------------


def page_rank(candidates: Candidates, scores: Scores) -> Scores:
    """Personalised PageRank over chunks and the entities that they share, as a share of the best.

    It starts from the entities that the question names and from the chunks with the best scores so far
    (Gutiérrez et al., 2024, over a graph of one question).
    """
    places = _places(candidates)
    if not places:
        return np.zeros(len(scores))
    rows, columns = _links(candidates, places)
    size = len(candidates.chunks) + len(places)
    heads, tails = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    degrees = np.bincount(heads, minlength=size).astype(float)
    rarity = 1.0 / np.sqrt(degrees[np.concatenate([columns, columns])])  # an entity that all share tells little
    shares = rarity / np.bincount(heads, weights=rarity, minlength=size)[heads]
    start = _start(candidates, places, scores, size)
    rank: Scores = start
    for _ in range(_ROUNDS):
        flow = np.bincount(tails, weights=rank[heads] * shares, minlength=size)
        rank = (1 - _DAMPING) * start + _DAMPING * flow
    reached: Scores = rank[: len(scores)]
    return _share_of_best(reached)


def _places(candidates: Candidates) -> dict[int, int]:
    """Entities that connect chunks, or that the question names, with their places after the chunks."""
    counts = Counter(entity for named in candidates.entities for entity in named)
    kept = sorted(entity for entity, count in counts.items() if count > 1 or entity in candidates.named)
    return {entity: len(candidates.chunks) + place for place, entity in enumerate(kept)}


def _links(candidates: Candidates, places: dict[int, int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    pairs = [(i, places[e]) for i, named in enumerate(candidates.entities) for e in named if e in places]
    ends = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _start(candidates: Candidates, places: dict[int, int], scores: Scores, size: int) -> Scores:
    chunks, entities = np.zeros(size), np.zeros(size)
    best_first = np.argsort(-scores, kind="stable")[:_SEED_CHUNKS]
    chunks[best_first] = np.maximum(scores[best_first], 0.0)
    counts = Counter(entity for named in candidates.entities for entity in named)
    for entity in candidates.named & places.keys():
        entities[places[entity]] = 1.0 / counts[entity]
    share = _SEED_ENTITIES_SHARE if entities.any() else 0.0
    start: Scores = share * entities / (entities.sum() or 1.0) + (1 - share) * chunks / (chunks.sum() or 1.0)
    return start


class Start(NamedTuple):
    """One of the best chunks, from which a second step is looked for."""

    place: int
    worth: float
    """As a share of the best, less by its rank."""
    shared: Sequence[frozenset[int]]
    """For each candidate, the steps from here that it names too."""


def best_starts(candidates: Candidates, scores: Scores) -> list[Start]:
    """The best chunks, best first."""
    places = _best_places(scores)
    worths = np.maximum(scores[places] / (scores[places[0]] or 1.0), 0.0) / (1 + _FALL * np.arange(len(places)))
    steps = [_steps_from(candidates, place) for place in places]
    shared = [[own & named for named in candidates.entities] for own in steps]
    return [Start(*start) for start in zip(places, worths.tolist(), shared, strict=True)]


def _best_places(scores: Scores) -> list[int]:
    return [int(place) for place in np.argsort(-scores, kind="stable")[:_STARTS]]


def _steps_from(candidates: Candidates, place: int) -> frozenset[int]:
    """The things that a chunk names; what the question names itself is no second step."""
    return candidates.entities[place] - candidates.named


def bridges(candidates: Candidates, starts: Sequence[Start]) -> Scores:
    """For each chunk about a thing that one of the best chunks names: how good that one is.

    So the second step of a question is found (where the director works, whom a film's passage names).
    """
    lifted = np.zeros(len(candidates.chunks))

    @cache
    def about(place: int) -> frozenset[int]:
        return opening_names(candidates.chunks[place])

    for start in starts:
        for i, things in enumerate(start.shared):
            if things and i != start.place and start.worth > lifted[i] and things & about(i):
                lifted[i] = start.worth
    return lifted


def sharing(starts: Sequence[Start], count: int) -> Scores:
    """For each of so many chunks that shares a thing with one of the best: how good that one is, in equal parts for
    all that name the thing; 0 for the best ones themselves."""
    lifted = np.zeros(count)
    best_places = {start.place for start in starts}
    for start in starts:
        times = Counter(thing for things in start.shared for thing in things)
        for i, things in enumerate(start.shared):
            if things and i not in best_places:
                lifted[i] = max(lifted[i], start.worth / min(times[thing] for thing in things))
    return lifted


def opening_names(chunk: DocumentChunk) -> frozenset[int]:
    """Numbers of the entities that the first words of a text would name: what it is about, whether there are such or not."""
    words = chunk.text[:_OPENING_CHARACTERS].split()[: _LONGEST_NAME + 1]
    spans = (words[start:end] for start in range(2) for end in range(start + 1, len(words) + 1))
    return frozenset(ids.entity_id(chunk.dataset_id, " ".join(span)).int for span in spans)


# --- neighbours ------------------------------------------------------------------------------------


def _lift(chunks: Sequence[DocumentChunk], scores: Scores) -> Scores:
    """For each turn of a transcript, the mean score of the chunks before and after it; 0 for other texts."""
    places = {(chunk.document_id, chunk.position): i for i, chunk in enumerate(chunks)}
    lifted = np.zeros(len(scores))
    for i, chunk in enumerate(chunks):
        if not is_transcript(chunk.text):
            continue
        beside = [places.get((chunk.document_id, chunk.position + step)) for step in (-1, 1)]
        lifted[i] = sum(scores[place] for place in beside if place is not None) / 2
    return lifted


def is_transcript(text: str) -> bool:
    """Whether a text is several turns of a talk, each with its speaker."""
    return len(_SPEAKER.findall(text)) >= 3
