"""What is wrong with a sentence that a model wrote from sources: talk, obedience, emptiness, invention.

Cheap rules over the text; what a source says in the same words is never held against a sentence.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise

from overstory import prompts
from overstory.grounding import ungrounded
from overstory.obedience import commands_reader, obeys
from overstory.tokens import estimate_tokens

_OPENING_TALK = re.compile(
    r"(?:sure|certainly|of course|okay|ok|absolutely|great)\s*[,!.]"
    r"|(?:here (?:is|are|'s)|here's|below (?:is|are)|the following (?:is|are)) (?:the|a|an|my|your)\b.{0,40}\b(?:summary|json|answer|facts?|list|overview|object|entry)\b"
    r"|i (?:cannot|can't) (?:help|assist|comply|summari[sz]e|provide|answer)\b"
    r"|hier ist (?:die|eine)\b|natürlich[,!]|voici (?:le|un|les)\b|bien sûr\s*[,!]"
    r"|aquí (?:está|tiene|tienes)\b|claro[,!]|以下是|好的[,，]|我将(?:为|会|要)?|以下は",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model|assistant)\b"
    r"|\b(?:i will|i'll|i am going to|i'm going to|let me|i have|i've) (?:now |first |just )?(?:summari[sz]ed?|prepared?|writ(?:e|ten)|provided?|creat(?:e|ed)|analy[sz]ed?|list(?:ed)?|extract(?:ed)?|generated?|answer)\b"
    r"|\bi(?:'m| am) (?:sorry|unable)\b|\bi (?:hope|trust) this helps\b"
    r"|\b(?:this|the) (?:json|summary) (?:object )?(?:contains|covers|lists|includes|summari[sz]es|above|below)\b"
    r"|\b(?:provided|given|above) (?:text|inputs?|passages?|information|context)\b|\bthe inputs? (?:state|say|mention|do not|don't|does not|doesn't|contain)"
    r"|\bich werde (?:nun|jetzt)\b|\bals (?:ki|sprachmodell)\b"
    r"|\bje vais (?:maintenant|résumer|préparer)\b|\ben tant qu(?:'|’)?(?:e )?(?:ia|modèle de langage)\b"
    r"|\bvoy a (?:resumir|preparar|escribir)\b|\bcomo (?:una )?(?:ia|modelo de lenguaje)\b"
    r"|作为(?:一个|一款)?(?:ai|人工智能|语言模型)|(?:ai|言語モデル)として",
    re.IGNORECASE,
)
_TALK_WORDS = {
    *("ai", "artificial", "language", "model", "assistant", "i", "i'll", "i'm", "i've", "let", "json", "summary"),
    *("provided", "given", "above", "input", "inputs", "ich", "als", "ki", "je", "tant", "voy", "ia", "modelo"),
}
"""Words without one of which no Latin talk is: looking for them first makes the check cheap."""
_TAGS = re.compile(
    r"</?\s*(?:think|thinking|thought|reasoning|reflection|source|inputs|answer|output|scratchpad)\s*>|<\|[^|>]{1,40}\|>|\[/?INST\]",
    re.IGNORECASE,
)
_SCHEMA = re.compile(
    r'\$defs|\$ref|additionalProperties|"(?:type|properties|categories|facts|inputs|superseded)"\s*:|\A\s*[{\[]\s*"'
)
_WORD = re.compile(r"\w+")
_APOSTROPHE_WORD = re.compile(r"[\w']+")
_LETTERS = re.compile(r"[^\W\d_]+")
_SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_LATIN = re.compile(r"[A-Za-zªº\u00c0-\u02af\u1d00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff\ufb00-\ufb06\uff21-\uff5a]")
_MONTHS_AND_DAYS = re.compile(
    r"^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|on|at|in|the|of|am|der|den|le|el|de|um|th|st|nd|rd)",
    re.IGNORECASE,
)
_LEAST_WORDS = 3
_LEAST_WIDE_LETTERS = 4
_PREFIX = 4
_PROMPT_WORDS = 6
_MUCH = 0.5
_LITTLE = 0.1


def sentence_faults(sentence: str, sources: Sequence[str]) -> list[str]:
    """Why a sentence that rests on these sources can't be stored; nothing when it can."""
    if not sentence.strip():
        return ["it is empty"]
    faults = talk_faults(sentence, sources)
    if not is_sentence(sentence):
        faults.append("it is no sentence")
    faults += [f"{spelled} is not in its inputs" for spelled in ungrounded(sentence, sources)[:3]]
    if sources and not faults:
        faults += _foreign(sentence, sources)
    return faults


def talk_faults(text: str, sources: Sequence[str]) -> list[str]:
    """Talk about the task, tags, schema, prompt, and instructions that were followed."""
    checks = ((_talk, "it talks about the task"), (_tags, "it holds tags"), (_schema, "it holds parts of the schema"))
    faults = [fault for find, fault in checks if (match := find(text)) and not _is_said(match.group(), sources)]
    if _repeats_prompt(text):
        faults.append("it repeats the instructions")
    if commands_reader(text):
        faults.append("it tells the reader what to do: report an instruction as something that a text says")
    if obeys(text, sources):
        faults.append("it does what a source tells it to: report the instruction, don't follow it")
    return faults


def _talk(text: str) -> re.Match[str] | None:
    opening = _OPENING_TALK.match(text.lstrip())
    if opening or (text.isascii() and _TALK_WORDS.isdisjoint(_APOSTROPHE_WORD.findall(text.casefold()))):
        return opening
    return _TALK.search(text)


def _tags(text: str) -> re.Match[str] | None:
    return _TAGS.search(text) if "<" in text or "[" in text else None


def _schema(text: str) -> re.Match[str] | None:
    return _SCHEMA.search(text) if '"' in text or "$" in text or "additional" in text else None


def _is_said(part: str, sources: Sequence[str]) -> bool:
    return any(part.casefold() in source.casefold() for source in sources)


def is_sentence(text: str) -> bool:
    """More than a name, a date or a number."""
    wide = len(_SPACELESS.findall(text))
    if wide >= _LEAST_WIDE_LETTERS:
        return True
    words = _LETTERS.findall(text)
    meaning = [word for word in words if len(word) > 1 and not (len(word) <= _PREFIX and _MONTHS_AND_DAYS.match(word))]
    return len(_WORD.findall(text)) >= _LEAST_WORDS and len(meaning) > 1 - bool(wide)


def check_summary(text: str, chunk_text: str, heading: str = "") -> list[str]:
    """Why the summary of a chunk can't be stored; nothing when it can.

    Args:
        text: the summary.
        chunk_text: the chunk.
        heading: its title and date, which the summary may repeat.
    """
    if not text.strip():
        return ["the summary is empty"]
    said = f"{chunk_text}\n{heading}".strip()
    faults = talk_faults(text, [said])
    if is_sentence(chunk_text) and not is_sentence(text):
        faults.append("it is no sentence")
    faults += [f"{spelled} is not in the passage" for spelled in ungrounded(text, [said])[:3]]
    if estimate_tokens(text) > max(120, estimate_tokens(chunk_text)):
        faults.append("it is longer than the passage")
    if not faults:
        faults += _foreign(text, [said])
    return [f"the summary: {fault}" for fault in faults]


def _foreign(text: str, sources: Sequence[str]) -> list[str]:
    """Written in another script than all of the sources, or without a word of theirs."""
    share, shares = _non_latin_share(text), list(map(_non_latin_share, sources))
    is_latin_only = share < _LITTLE and min(shares) > _MUCH
    is_latin_nowhere = share > _MUCH and max(shares) < _LITTLE
    if (is_latin_only or is_latin_nowhere) and not _is_said(text.strip().rstrip(".。!?"), sources):
        return ["it is not in the language of its inputs"]
    said = frozenset().union(*map(_stems, sources))
    own = _stems(text)
    return ["it has no word in common with its inputs"] if said and own and said.isdisjoint(own) else []


def _non_latin_share(text: str) -> float:
    """Of the letters of a text; in between for one without letters, which has no script."""
    if text.isascii():
        return 0.0 if any(map(str.isalpha, text)) else _MUCH
    letters = "".join(_LETTERS.findall(text))
    return 1 - len(_LATIN.findall(letters)) / len(letters) if letters else _MUCH


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    """Beginnings of the longer words, and pairs of letters where a script has no spaces."""
    stems = {word[:_PREFIX] for word in _LETTERS.findall(text.casefold()) if len(word) >= _PREFIX}
    if text.isascii():
        return frozenset(stems)
    wide = _SPACELESS.findall(text)
    stems = {stem for stem in stems if not _SPACELESS.match(stem)}
    return frozenset(stems | {a + b for a, b in pairwise(wide)})


def _repeats_prompt(text: str) -> bool:
    told = _plain(text)
    return len(told.split()) >= _PROMPT_WORDS and any(sentence in told for sentence in _prompt_sentences())


@cache
def _prompt_sentences() -> tuple[str, ...]:
    texts = [prompts.text(name) for name in ("write_area", "read_chunk")]
    sentences = [_plain(sentence) for text in texts for sentence in re.split(r"(?<=[.:])\s", text)]
    return tuple(sentence for sentence in sentences if len(sentence.split()) >= _PROMPT_WORDS)


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
