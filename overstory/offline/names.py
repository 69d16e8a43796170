"""Names in a text: runs of capitalised words, with the small words that may stand between them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from overstory.ids import normalize_name
from overstory.offline.terms import WORD
from overstory.offline.words import CALENDAR_WORDS, COMMON_VERBS, NAME_CONNECTORS, NOT_NAMES, PERSON_TITLES, STOP_WORDS

_LONGEST_NAME = 60
_INITIAL = re.compile(r"(?:[A-Z]|St|Mt|Mr|Mrs|Ms|Dr|Prof|Sen|Gov|Rev|Capt|Col|Gen|Lt|Sgt|Hon)$")
_OPENING = re.compile(r"[.!?:;…\"“«„‘(\[]|(?:^|\s)['—–-]\s?$")
_ACRONYMS = frozenset({"US", "WHO", "IT", "UN", "AI"})
_ADVERB_ENDINGS = ("ally", "ously", "ently", "antly", "ingly", "tely", "edly")
_LABEL = re.compile(r"(?:\[[^\]]{4,30}\]\s*)?([^\W\d_][\w.'’-]+(?: [^\W\d_][\w.'’-]*){1,3}):\s")
_QUOTED = re.compile(r"[\"“«„]([^\W\d_][^\"”»“„«\n]{3,58}[^\s.,;:!?…])[\"”»“]")


class Token(NamedTuple):
    text: str
    low: str
    start: int
    end: int
    capital: bool
    opens: bool
    """First of its sentence or quotation, or after a colon."""


class Spot(NamedTuple):
    """Where a mention stands."""

    name: str
    sentence: int
    start: int
    end: int


class Line(NamedTuple):
    """A sentence with its words."""

    text: str
    tokens: list[Token]
    is_title: bool
    """A heading, or written like one, where capitals mean little."""


def line_of(text: str, is_heading: bool = False) -> Line:
    tokens = _tokens(text)
    capitals = sum(token.capital for token in tokens)
    return Line(text, tokens, is_heading or (len(tokens) >= 4 and capitals > 0.7 * len(tokens)))


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    previous = 0
    for match in WORD.finditer(text):
        word, start, end = match[0], match.start(), match.end()
        if word.endswith(("'s", "’s")):
            word, end = word[:-2], end - 2
        gap = text[previous:start]
        opens = not tokens or (gap != " " and bool(_OPENING.search(gap)) and not _INITIAL.match(tokens[-1].text))
        tokens.append(Token(word, word.lower(), start, end, _is_capital(word), opens))
        previous = end
    return tokens


def _is_capital(word: str) -> bool:
    if word[0].isupper():
        return True
    return len(word) > 2 and not word[0].isdigit() and word != word.lower() and "." not in word


def names_in(lines: Sequence[Line], *, nouns_have_capitals: bool = False) -> list[Spot]:
    """Every place where a name stands, in the order of the text."""
    lowered = {token.low for line in lines for token in line.tokens if not token.capital}
    inside = {t.low for line in lines if not line.is_title for t in line.tokens if t.capital and not t.opens}
    spots: list[Spot] = []
    doubtful: list[Spot] = []
    for number, line in enumerate(lines):
        for run in _runs(line, connected=not nouns_have_capitals):
            run = _trimmed(run, lowered)
            if not run or (nouns_have_capitals and len(run) == 1):
                continue
            spot = Spot(_spelling(line, run), number, run[0].start, run[-1].end)
            if len(spot.name) > _LONGEST_NAME:
                continue
            sure = not line.is_title and (len(run) > 1 or _stands_alone(line, run[0], lowered, inside))
            (spots if sure or _part_of_heading(line, run) else doubtful).append(spot)
        spots.extend(_quoted(line, number))
    known = {normalize_name(spot.name) for spot in spots}
    spots += [spot for spot in doubtful if normalize_name(spot.name) in known]
    return _outermost(spots)


def _runs(line: Line, *, connected: bool) -> Iterator[list[Token]]:
    """Runs of capitals; where every noun has one, small words lead from one noun to the next and connect no name."""
    run: list[Token] = []
    tokens = line.tokens
    for place, token in enumerate(tokens):
        if run and (token.capital or connected) and _continues(line.text, run, tokens, place):
            run.append(token)
            continue
        if run:
            yield run
        run = [token] if token.capital else []
    if run:
        yield run


def _continues(text: str, run: list[Token], tokens: list[Token], place: int) -> bool:
    token, last = tokens[place], run[-1]
    gap = text[last.end : token.start]
    if gap not in (" ", " & ") and not (gap == ". " and _INITIAL.match(last.text)):
        return False
    if token.capital:
        return True
    if token.low in NAME_CONNECTORS:
        return _capital_follows(text, token, tokens[place + 1 : place + 3])
    return token.low.isdigit() and len(token.low) <= 4 and last.low not in CALENDAR_WORDS and _is_last(text, token)


def _capital_follows(text: str, connector: Token, following: list[Token]) -> bool:
    """Whether a small word, or two (`of the`), lead on to the next part of a name."""
    last = connector
    for token in following:
        if text[last.end : token.start] != " ":
            return False
        if token.capital:
            return True
        if token.low not in NAME_CONNECTORS:
            return False
        last = token
    return False


def _is_last(text: str, token: Token) -> bool:
    """Whether a number closes a name (`Windows 10`) and doesn't count what follows."""
    rest = text[token.end : token.end + 30]
    following = WORD.search(rest)
    return not token.low.startswith("0") and (
        not rest or rest[0] in ",.;)" or (rest[0] == " " and following is not None and following[0] in COMMON_VERBS)
    )


def _trimmed(run: list[Token], lowered: set[str]) -> list[Token]:
    """Without what only looks like a part of the name."""
    while run and _is_no_start(run[0], lowered, len(run)):
        run = run[1:]
    while run and (
        _is_function_word(run[-1]) or run[-1].low in CALENDAR_WORDS or (not run[-1].capital and len(run) == 1)
    ):
        run = run[:-1]
    return run


def _is_no_start(token: Token, lowered: set[str], length: int) -> bool:
    if _is_function_word(token) or not token.capital or token.low in CALENDAR_WORDS:
        return True
    if token.low in NOT_NAMES:
        return True
    if not token.opens or length == 1 or token.low in PERSON_TITLES:
        return False
    return token.low in lowered or token.low in COMMON_VERBS or token.low.endswith(_ADVERB_ENDINGS)


def _is_function_word(token: Token) -> bool:
    """`The`, `In`, `I`; but not `WHO` or `US`."""
    low = token.low.replace("’", "'")
    if len(low) == 1:
        return low in "ai"
    if low not in STOP_WORDS:
        return False
    return token.text not in _ACRONYMS


def _stands_alone(line: Line, token: Token, lowered: set[str], inside: set[str]) -> bool:
    """Whether a single word with a capital is a name: surely inside a sentence, on evidence at its beginning."""
    if len(token.low) < 2 or (token.low.endswith("ly") and token.opens):
        return False
    if not token.opens or token.low in inside or (token.text.isupper() and len(token.text) > 2):
        return True
    if token.low in lowered or token.low in COMMON_VERBS or len(token.low) < 3:
        return False
    after = line.text[token.end :]
    if after.startswith(("'s ", "’s ")):
        return True
    return after.startswith(" ") and _verb_follows(WORD.findall(after[:60]))


def _verb_follows(words: list[str]) -> bool:
    """Whether these words begin with a verb (`Brightpay won`) and not with a noun that has one (`Similar plans can`)."""
    if not words or words[0] in COMMON_VERBS:
        return bool(words)
    if len(words[0]) < 4 or not words[0].islower():
        return False
    is_plural = words[0].endswith("s") and not words[0].endswith(("ss", "us", "is"))
    return words[0].endswith("ed") or (is_plural and len(words) > 1 and words[1] not in COMMON_VERBS)


def _part_of_heading(line: Line, run: list[Token]) -> bool:
    shouted = all(token.text.isupper() for token in run)
    return line.is_title and 1 < len(run) <= 4 and len(run) < len(line.tokens) - 1 and not shouted


def _spelling(line: Line, run: list[Token]) -> str:
    name = line.text[run[0].start : run[-1].end]
    label = _LABEL.match(line.text)
    shouted = label is not None and run[-1].end <= label.end(1) and name.isupper() and " " in name
    return " ".join(word.capitalize() for word in name.split()) if shouted else name


def _quoted(line: Line, number: int) -> Iterator[Spot]:
    """Titles in quotation marks."""
    if not any(mark in line.text for mark in '"“«„'):
        return
    for match in _QUOTED.finditer(line.text):
        words = WORD.findall(match[1])
        capitals = sum(word[0].isupper() for word in words)
        if 2 <= len(words) <= 8 and capitals > 0.6 * len(words):
            yield Spot(match[1], number, match.start(1), match.end(1))


def _outermost(spots: list[Spot]) -> list[Spot]:
    """Without spots that lie inside another one."""
    kept: list[Spot] = []
    for spot in sorted(spots, key=lambda s: (s.sentence, s.start, -s.end)):
        if kept and kept[-1].sentence == spot.sentence and spot.start < kept[-1].end:
            continue
        kept.append(spot)
    return kept


def merge_short_forms(spots: list[Spot]) -> list[Spot]:
    """Let `Abernathy` count as `Jules Abernathy` where the text has the whole name at least as often."""
    counts = Counter(spot.name for spot in spots)
    whole: dict[str, str] = {}
    for name in counts:
        words = name.split()
        if 2 <= len(words) <= 3 and words[0].rstrip(".").casefold() not in PERSON_TITLES:
            for part in (words[-1], words[0]):
                if counts.get(part, 0) and counts[name] >= counts[part]:
                    whole.setdefault(part, name)
    return [spot._replace(name=whole[spot.name]) if spot.name in whole else spot for spot in spots] if whole else spots
