"""What an area is about: its names by type, and its topics."""

from collections.abc import Iterable, Sequence

from overstory.ids import normalize_name
from overstory.models import Category
from overstory.offline.dates import DATE as DATE_PATTERN
from overstory.offline.entities import Found, find_entities
from overstory.offline.kinds import DATE, ORGANISATION, PERSON, PLACE, THING
from overstory.offline.sentences import sentences_of
from overstory.offline.terms import stem, words_of
from overstory.tokens import estimate_tokens
from overstory.writer import AreaTask

PEOPLE, ORGANISATIONS, PLACES, NAMES, TOPICS = "People", "Organisations", "Places", "Names", "Topics"
_BY_KIND = {PERSON: PEOPLE, ORGANISATION: ORGANISATIONS, PLACE: PLACES, THING: TOPICS}
_ORDER = (PEOPLE, ORGANISATIONS, PLACES, NAMES, TOPICS)
_MAX_TOPICS = 6
_MAX_CATEGORIES = 6


def choose_categories(task: AreaTask, budget: int) -> tuple[Category, ...]:
    """At most `_MAX_CATEGORIES`, each with its most frequent topics, within about `budget` tokens."""
    found = _from_children(task) if task.categories else _from_inputs(task)
    return _within(found, budget)


def _from_children(task: AreaTask) -> list[Category]:
    """The children's own categories, each topic in one of them, those that stand in most inputs first."""
    texts = [_words(i.text) for i in task.inputs]
    ranks = {_words(name): place for place, name in enumerate(task.entities)}
    merged: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    for category in sorted(task.categories, key=_place):
        topics = merged.setdefault(category.name, {})
        for topic in category.topics:
            key = _words(topic)
            if key not in seen or key in topics:
                topics.setdefault(key, topic)
                seen.add(key)
    return [Category(name=name, topics=_most_named(merged[name], texts, ranks)) for name in merged if merged[name]]


def _place(category: Category) -> int:
    """Ours in our order, those of a model between the names and the topics."""
    return _ORDER.index(category.name) if category.name in _ORDER else len(_ORDER) - 1


def _words(text: str) -> str:
    """For comparing whole words, singular and plural alike."""
    return f" {' '.join(stem(word) for word in words_of(text))} "


def _most_named(topics: dict[str, str], texts: Sequence[str], ranks: dict[str, int]) -> tuple[str, ...]:
    """By the number of inputs; of equal ones what has several words tells more."""
    counts = {key: sum(key in text for text in texts) * (1.6 if " " in key.strip() else 1.0) for key in topics}
    ordered = sorted(topics, key=lambda key: (-counts[key], ranks.get(key, len(ranks))))
    return tuple(topics[key] for key in ordered)


def _from_inputs(task: AreaTask) -> list[Category]:
    """Names and noun phrases of the inputs, those that the area names most often first."""
    found = [find_entities(sentences_of(i.text)) for i in task.inputs]
    kinds = _kinds(found)
    wanted = [name for name in task.entities if normalize_name(name) in kinds] or _frequent(found)
    sorted_in: dict[str, dict[str, str]] = {}
    for name in wanted:
        key = normalize_name(name)
        if kinds[key] != DATE and not DATE_PATTERN.fullmatch(name):
            sorted_in.setdefault(_BY_KIND.get(kinds[key], NAMES), {}).setdefault(key, name)
    return [Category(name=c, topics=tuple(sorted_in[c].values())) for c in _ORDER if c in sorted_in]


def _kinds(found: Iterable[Found]) -> dict[str, str]:
    """The type of each name; a type that any input shows wins."""
    kinds: dict[str, str] = {}
    for one in found:
        opening = {spot.name for spot in one.spots} - {spot.name for spot in one.spots if spot.start > 0}
        for mention in one.mentions:
            key = normalize_name(mention.name)
            kind = THING if not mention.type and mention.name in opening and " " not in mention.name else mention.type
            if not kinds.get(key) or (kinds[key] == THING and kind and kind != THING):
                kinds[key] = kind
    return kinds


def _frequent(found: Iterable[Found]) -> list[str]:
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for one in found:
        for mention in one.mentions:
            key = normalize_name(mention.name)
            counts[key] = counts.get(key, 0) + 1
            names.setdefault(key, mention.name)
    return [names[key] for key in sorted(counts, key=lambda key: -counts[key])]


def _within(categories: Sequence[Category], budget: int) -> tuple[Category, ...]:
    """Topics by turns, one of each category, until the tokens are spent."""
    kept: dict[str, list[str]] = {}
    spent = 0
    for place in range(_MAX_TOPICS):
        for category in categories[:_MAX_CATEGORIES]:
            if place >= len(category.topics):
                continue
            cost = estimate_tokens(f", {category.topics[place]}") + (category.name not in kept) * 4
            if spent + cost <= budget:
                kept.setdefault(category.name, []).append(category.topics[place])
                spent += cost
    return tuple(Category(name=c.name, topics=tuple(kept[c.name])) for c in categories if c.name in kept)
