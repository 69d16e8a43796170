"""What an area is about: its names by type, and its topics."""

from collections import Counter
from collections.abc import Sequence

from overstory.ids import normalize_name
from overstory.models import Category
from overstory.offline.dates import DATE as DATE_PATTERN
from overstory.offline.entities import find_entities
from overstory.offline.kinds import ORGANISATION, PERSON, PLACE, kind_of
from overstory.offline.names import Spot
from overstory.offline.sentences import Sentence, split_sentences
from overstory.offline.terms import stem, words_of
from overstory.tokens import estimate_tokens
from overstory.writer import AreaTask

PEOPLE, ORGANISATIONS, PLACES, NAMES, TOPICS = "People", "Organisations", "Places", "Names", "Topics"
_BY_KIND = {PERSON: PEOPLE, ORGANISATION: ORGANISATIONS, PLACE: PLACES}
ORDER = (PEOPLE, ORGANISATIONS, PLACES, NAMES, TOPICS)
_MAX_TOPICS = 6
_MAX_CATEGORIES = 6
_MAX_NAMES = 40


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
    return ORDER.index(category.name) if category.name in ORDER else len(ORDER) - 1


def _words(text: str) -> str:
    """For comparing whole words, singular and plural alike."""
    return f" {' '.join(stem(word) for word in words_of(text))} "


def _most_named(topics: dict[str, str], texts: Sequence[str], ranks: dict[str, int]) -> tuple[str, ...]:
    """By the number of inputs; of equal ones what has several words tells more."""
    counts = {key: sum(key in text for text in texts) * (1.6 if " " in key.strip() else 1.0) for key in topics}
    ordered = sorted(topics, key=lambda key: (-counts[key], ranks.get(key, len(ranks))))
    return tuple(topics[key] for key in ordered)


def _from_inputs(task: AreaTask) -> list[Category]:
    """The names that the area knows, as far as its inputs have them, by what the inputs show of them."""
    texts = [sentence for i in task.inputs for sentence in split_sentences(i.text)]
    names = task.entities[:_MAX_NAMES] or _names_in(texts)
    topics_of: dict[str, dict[str, str]] = {}
    for name in names:
        spots = [Spot(name, n, at, at + len(name)) for n, text in enumerate(texts) if (at := text.find(name)) >= 0]
        if spots and not _is_date(name):
            topics_of.setdefault(_category_of(name, spots, texts), {}).setdefault(normalize_name(name), name)
    return [Category(name=c, topics=tuple(topics_of[c].values())) for c in ORDER if c in topics_of]


def _is_date(name: str) -> bool:
    return bool(DATE_PATTERN.fullmatch(name) or name.isdigit())


def _category_of(name: str, spots: Sequence[Spot], texts: Sequence[str]) -> str:
    """A single word that only ever opens sentences may be any noun: a topic, unless the text shows a type."""
    if name == name.lower():
        return TOPICS
    kind = kind_of(name, spots, texts)
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    return TOPICS if " " not in name and all(spot.start == 0 for spot in spots) else NAMES


def _names_in(texts: Sequence[str]) -> list[str]:
    """The mentions of the texts themselves, the most frequent first."""
    counts = Counter(mention.name for text in texts for mention in find_entities([Sentence(text, "prose")]).mentions)
    return [name for name, _ in counts.most_common(_MAX_NAMES)]


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
