"""The gate: a writer proposes, and here it is decided what may be stored.

Repaired by rule, without another call: line breaks, list marks and `[3]` marks in a text, a heading "Earlier:",
inputs that don't exist beside ones that do, doubled facts and topics, blank categories.
Refused with a reason, for another try: everything that `model_checks` finds in a fact or a topic, facts whose inputs
don't exist, missing sections, too much text, and drafts that mostly repeat themselves.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from overstory.errors import ModelInputError, ModelInputTooLongError, ModelOutputError, ModelRefusedError
from overstory.grounding import ungrounded
from overstory.indexing.condensing import halve
from overstory.indexing.rendering import EARLIER, render_area
from overstory.model_checks import sentence_faults, talk_faults
from overstory.models import AreaContent, Category, Fact, Usage
from overstory.settings import OFFLINE
from overstory.tokens import estimate_tokens
from overstory.writer import AreaDraft, AreaInput, AreaTask, DraftFact, Writer

_TOLERANCE = 1.25
_LONGEST_FACT_SHARE = 3
_LONGEST_FACT_TOKENS = 100
_LONGEST_TOPIC_CHARACTERS = 120
_TOLD = 6
"""Problems told at once."""
_MARKS = re.compile(r"\s*\[\d+(?:\s*[,;-]\s*\d+)*\](?=\s*[.。!?]?\s*$)")
_LIST_MARK = re.compile(r"^(?:[-*•–]|\d{1,2}[.)])\s+(?=\D)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedArea:
    """What is stored of a bucket or the root."""

    content: AreaContent
    degraded: str = ""
    """Why it is an extractive fallback; empty when it is the writer's own."""


async def write_checked_area(
    writer: Writer, task: AreaTask, *, fallback: Callable[[AreaTask], AreaDraft], attempts: int, usage: Usage
) -> CheckedArea:
    """Have an area written until it passes the gate, else take the fallback.

    What is too long for the model after all is tried again with half of it, every child keeping a share.

    Args:
        writer: proposes; one by rules is taken at its word.
        task: what to write.
        fallback: an extractive draft, by rules.
        attempts: proposals at most.
        usage: what the calls took is added here, also when they fail.

    Raises:
        ModelError: the model can't be reached or used at all; the caller decides about the whole run.
    """
    if writer.model == OFFLINE:  # rules don't do better in another try
        return CheckedArea(content=accept(await writer.write_area(task, (), usage), task))
    given, problems, too_long = task, list[str](), ""
    for attempt in range(attempts):
        try:
            draft = await writer.write_area(given, problems, usage, again=attempt > 0)
        except ModelOutputError as error:
            problems = [error.reason]
            continue
        except ModelInputTooLongError as error:
            given, too_long = replace(given, inputs=halve(given.inputs)), str(error)
            continue
        except (ModelRefusedError, ModelInputError) as error:
            return fallback_area(task, fallback, str(error))
        problems = check_draft(draft, given)
        if not problems:
            return CheckedArea(content=accept(draft, given))
    return fallback_area(task, fallback, "; ".join(problems) or too_long)


def fallback_area(task: AreaTask, fallback: Callable[[AreaTask], AreaDraft], reason: str) -> CheckedArea:
    """The extractive text of an area, marked with the reason."""
    return CheckedArea(content=accept(fallback(task), task), degraded=reason or "no usable answer")


# --- what is refused -------------------------------------------------------------------------------


def check_draft(draft: AreaDraft, task: AreaTask) -> list[str]:
    """Why a draft can't be stored, in words for the writer's next try; nothing when it can."""
    inputs = {given.number: given for given in task.inputs}
    problems = [*_missing(draft), *_repetitions(draft)]
    for position, fact in enumerate(draft.facts, 1):
        problems += [f"fact {position}: {fault}" for fault in _fact_faults(fact, inputs, task.max_tokens)]
    problems += _category_faults(draft.categories, [_said(given) for given in task.inputs])
    return (problems or _length(draft, task))[:_TOLD]


def _missing(draft: AreaDraft) -> list[str]:
    missing = []
    if not _categories(draft.categories):
        missing.append("there are no categories with topics")
    if not any(fact.text.strip() for fact in draft.facts):
        missing.append("there are no facts")
    return missing


def _repetitions(draft: AreaDraft) -> list[str]:
    """A few doubles are dropped by rule; mostly doubles is a model that has lost its way."""
    lists = {
        "topics": [_folded(topic) for category in draft.categories for topic in category.topics],
        "facts": [_folded(fact.text) for fact in draft.facts],
    }
    return [f"the {name} repeat themselves" for name, all_ in lists.items() if len(all_) > 2 * len(set(all_))]


def _fact_faults(fact: DraftFact, inputs: dict[int, AreaInput], max_tokens: int) -> list[str]:
    known = [inputs[number] for number in fact.inputs if number in inputs]
    if not known:
        return [f"it names no input that exists, only {_few(fact.inputs)}" if fact.inputs else "it names no inputs"]
    text = _tidy(fact.text)
    faults = sentence_faults(text, [_said(given) for given in known])
    if estimate_tokens(text) > max(_LONGEST_FACT_TOKENS, max_tokens // _LONGEST_FACT_SHARE):
        faults.append("it is too long for one fact")
    return faults


def _category_faults(categories: Sequence[Category], said: Sequence[str]) -> list[str]:
    faults = []
    for category in categories:
        for label in (category.name, *category.topics):
            found = talk_faults(label, said) if label.strip() else []
            found += [f"{spelled} is in no input" for spelled in ungrounded(label, said)[:1]]
            if len(label) > _LONGEST_TOPIC_CHARACTERS:
                found.append("it is too long for a topic")
            faults += [f"a topic of {category.name.strip()[:40]!r}: {fault}" for fault in found]
    return faults


def _length(draft: AreaDraft, task: AreaTask) -> list[str]:
    tokens = estimate_tokens(render_area(accept(draft, task), is_root=task.is_root))
    if tokens <= task.max_tokens * _TOLERANCE:
        return []
    return [f"it has about {tokens} tokens, {task.max_tokens} are allowed: keep the most important facts"]


def _few(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, list(numbers)[:3]))


# --- what is stored --------------------------------------------------------------------------------


def accept(draft: AreaDraft, task: AreaTask) -> AreaContent:
    """The content of a draft that was found good: tidied, with what each fact rests on, in the order of events."""
    inputs = {given.number: given for given in task.inputs}
    merged: dict[str, DraftFact] = {}
    for fact in draft.facts:
        tidy = _tidied(fact, inputs)
        if tidy.inputs and tidy.text:
            key = _folded(tidy.text)
            merged[key] = _merged(merged[key], tidy) if key in merged else tidy
    ordered = sorted(merged.values(), key=lambda fact: max(fact.inputs))
    return AreaContent(categories=_categories(draft.categories), facts=tuple(_fact(fact, inputs) for fact in ordered))


def _tidied(fact: DraftFact, inputs: dict[int, AreaInput]) -> DraftFact:
    numbers = tuple(sorted({number for number in fact.inputs if number in inputs}))
    history = bool(numbers) and all(inputs[number].superseded for number in numbers)
    marked = _is_marked(fact.text) and not any(EARLIER in inputs[number].text for number in numbers)
    text = _tidy(fact.text).removeprefix(EARLIER if marked else "")
    return DraftFact(text=text.strip(), inputs=numbers, superseded=fact.superseded or history or marked)


def _merged(first: DraftFact, second: DraftFact) -> DraftFact:
    """One fact of two that say the same: it holds as long as one of them does."""
    return DraftFact(
        text=first.text,
        inputs=tuple(sorted({*first.inputs, *second.inputs})),
        superseded=first.superseded and second.superseded,
    )


def _fact(fact: DraftFact, inputs: dict[int, AreaInput]) -> Fact:
    given = [inputs[number] for number in fact.inputs]
    dated = [one.occurred_at for one in given if one.occurred_at]
    return Fact(
        text=fact.text,
        inputs=tuple(dict.fromkeys(one.key for one in given)),
        summary_ids=tuple(dict.fromkeys(key for one in given for key in one.summary_ids)),
        occurred_at=dated[-1] if dated else "",
        superseded=fact.superseded,
        order=given[0].order,
    )


def _categories(categories: Sequence[Category]) -> tuple[Category, ...]:
    """Without blanks and doubles; categories of one name become one."""
    topics: dict[str, tuple[str, dict[str, str]]] = {}
    for category in categories:
        name = _line(category.name).rstrip(":")
        own = topics.setdefault(_folded(name), (name, {}))[1]
        for topic in map(_line, category.topics):
            if topic:
                own.setdefault(_folded(topic), topic)
    return tuple(Category(name=name, topics=tuple(own.values())) for name, own in topics.values() if name and own)


def _said(given: AreaInput) -> str:
    return f"{given.text} ({given.occurred_at})" if given.occurred_at else given.text


def _tidy(text: str) -> str:
    return _MARKS.sub("", _LIST_MARK.sub("", _line(text))).strip()


def _is_marked(text: str) -> bool:
    """Whether the writer says so; where an input has the word itself, it is the document's."""
    return text.lstrip("-*• ").startswith(EARLIER)


def _line(text: str) -> str:
    return " ".join(text.split())


def _folded(text: str) -> str:
    return _line(text).casefold().rstrip(".。 ")
