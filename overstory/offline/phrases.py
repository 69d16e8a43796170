"""Noun phrases that are no names: what a chunk is about, in lower case or in scripts without capitals."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from overstory.offline.languages import is_caseless, is_wide
from overstory.offline.names import Line, Spot, Token
from overstory.offline.terms import HAN, is_stop_word, stem
from overstory.offline.words import CALENDAR_WORDS, COMMON_VERBS, ENGLISH_STOP_WORDS, NOT_NAMES, STOP_WORDS, word_set

_DETERMINERS = word_set("""
the a an our their its his her this that these those every each no my your le la les un une des el los las una
il lo gli der die das den dem ein eine einen einem einer het een de
""")
_NO_NOUNS = STOP_WORDS | CALENDAR_WORDS | NOT_NAMES
_LONGEST = 3
_MAX_CONTENT_WORDS = 6
_LONGEST_WORD = 20
_VAGUE = word_set("""
way ways time times lot lots bit kind kinds sort sorts part parts case cases day days year years week weeks
month months fact facts end number reason reasons point points people person man men woman one ones place side
sides thing things moment hour hours minute minutes question questions example examples area areas new old good
great first last next same different big small long little sense matter rest course today world
""")
_NUMBER_WORDS = word_set("""
two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty hundred hundreds
thousand thousands million millions billion billions dozen half percent per
""")
_NOUN_ENDINGS = (
    "tion",
    "sion",
    "ment",
    "ness",
    "ity",
    "ance",
    "ence",
    "ship",
    "ism",
    "ist",
    "ure",
    "ery",
    "ology",
    "s",
)
_ADJECTIVE_ENDINGS = (
    "ic",
    "al",
    "ous",
    "ive",
    "ful",
    "less",
    "able",
    "ible",
    "ary",
    "ent",
    "ant",
    "ish",
    "ern",
    "ed",
    "ing",
)
_AFTER_NOUN = word_set("of with for on in at from by is are was were has have had will would can could")
"""After one of these words a second word was a noun (`the supplier call with …`), even if it can be a verb."""
_ADJECTIVES = word_set("""
mere short shorter easy easier hard harder difficult clear early late better worse best able sure free full open whole
""")
_FIGURES = re.compile("[一二三四五六七八九十百千万〇零]|午前|午後|毎[朝日週月年]")
_JAPANESE = re.compile(f"[{HAN}]{{2,6}}|[\u30a1-\u30fa\u30fc]{{3,12}}")
_KANA = re.compile("[\u3041-\u3096]")
_HAN_RUN = re.compile(f"[{HAN}]+")
_HAN_NAMED = re.compile(f"[《「『“]([{HAN}\\w]{{2,12}})[》」』”]")
_HAN_FUNCTION = frozenset(
    "的了在是我有和就不人都一个上也很到说要去你会着没看好自己这那他她它们与及或被把从对为以于等之其而但并将已可能所因此"
)
_SURNAMES = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
_HAN_PERSON = re.compile(
    f"(?:^|[，。、；：,;:是叫由和与及对向])([{_SURNAMES}][{HAN}]{{1,2}})(?=[，。、；：,;:）在说是的和与将于担表先女老]|$)"
)
_HAN_SUBJECT = re.compile(f"(?:^|[，。、；：,;:])([{HAN}]{{2,6}}?)(?=[是在有将被已为由每于])")
_KOREAN_ENDING = re.compile(
    "(?<=[\uac00-\ud7af]{2})(?:에서는|에서|으로|에게|까지|부터|은|는|이|가|을|를|의|에|로|와|과|도)$"
)


def phrases_in(lines: Sequence[Line], names: Sequence[Spot], *, nouns_have_capitals: bool, limit: int) -> list[Spot]:
    """The most telling phrases that no name covers, each with one or more spots, best phrases first."""
    if limit <= 0:
        return []
    text = "".join(line.text for line in lines)
    if is_wide(text):
        candidates = list(_wide_phrases(lines))
    elif is_caseless(text) or not _shows_nouns(lines):
        candidates, limit = list(_content_words(lines)), min(limit, _MAX_CONTENT_WORDS)
    elif nouns_have_capitals:
        candidates = list(_german_nouns(lines))
    else:
        candidates = list(_noun_groups(lines))
    return _best(_apart(candidates, names), limit)


def _apart(candidates: list[tuple[Spot, float]], names: Sequence[Spot]) -> list[tuple[Spot, float]]:
    """Without candidates that overlap a name."""
    taken: dict[int, list[Spot]] = {}
    for name in names:
        taken.setdefault(name.sentence, []).append(name)
    return [
        (spot, weight)
        for spot, weight in candidates
        if not any(spot.start < name.end and name.start < spot.end for name in taken.get(spot.sentence, ()))
    ]


def _best(candidates: list[tuple[Spot, float]], limit: int) -> list[Spot]:
    scores: dict[str, float] = {}
    spots: dict[str, list[Spot]] = {}
    for spot, weight in candidates:
        key = " ".join(stem(word) for word in spot.name.casefold().split())
        scores[key] = scores.get(key, 0.0) + weight
        spots.setdefault(key, []).append(spot)
    ranked = sorted(scores, key=lambda key: (-scores[key], spots[key][0].sentence, spots[key][0].start))
    chosen: list[str] = []
    for key in ranked:
        if len(chosen) < limit and not any(f" {key} " in f" {other} " for other in chosen):
            chosen.append(key)
    return [Spot(spots[key][0].name, s.sentence, s.start, s.end) for key in chosen for s in spots[key]]


def _shows_nouns(lines: Sequence[Line]) -> bool:
    """Whether the language has determiners that stand before nouns."""
    return any(t.low in _DETERMINERS or t.low in ENGLISH_STOP_WORDS for line in lines for t in line.tokens)


def _noun_groups(lines: Sequence[Line]) -> Iterator[tuple[Spot, float]]:
    """Groups after a determiner; elsewhere what looks like a noun."""
    for number, line in enumerate(lines):
        for group, determined, follower in _groups(line):
            group = _trimmed(group, follower)
            if group and (determined or len(group) > 1 or group[0].low.endswith(_NOUN_ENDINGS)):
                weight = (1.0 if determined else 0.35) * (1 + 0.4 * (len(group) - 1))
                yield _spot(line, number, group), weight


def _groups(line: Line) -> Iterator[tuple[list[Token], bool, str]]:
    """Runs of words that carry meaning, with whether a determiner stands before, and the word after."""
    group: list[Token] = []
    determined = False
    last_end = 0
    for token in line.tokens:
        joined = line.text[last_end : token.start] in (" ", "")
        content = not token.capital and _is_content(token.low)
        if group and not (joined and content and len(group) < _LONGEST):
            yield group, determined, token.low if joined else ""
            group, determined = [], False
        if content:
            if not group and not joined:
                determined = False
            group.append(token)
        else:
            determined = token.low in _DETERMINERS
        last_end = token.end
    if group:
        yield group, determined, ""


def _is_content(word: str) -> bool:
    if len(word) < 3 or word[0].isdigit() or word in CALENDAR_WORDS or word in _NUMBER_WORDS:
        return False
    return not is_stop_word(word.replace("’", "'"))


def _trimmed(group: list[Token], follower: str) -> list[Token]:
    """Up to the first verb, without adverbs around; nothing when no noun is left."""
    for place, token in enumerate(group):
        closes_phrase = place == 1 and len(group) == 2 and (_is_adjective(group[0].low) or follower in _AFTER_NOUN)
        if (token.low in COMMON_VERBS and not closes_phrase) or (place and token.low.endswith(("ed", "ly"))):
            group = group[:place]
            break
    while group and _is_edge(group[0].low):
        group = group[1:]
    while group and _is_edge(group[-1].low):
        group = group[:-1]
    if all(token.low in _VAGUE or _is_adjective(token.low) for token in group):
        return []
    return group


def _is_edge(word: str) -> bool:
    return word in NOT_NAMES or word.endswith("ly")


def _is_adjective(word: str) -> bool:
    return word in _ADJECTIVES or word.endswith(_ADJECTIVE_ENDINGS)


def _spot(line: Line, number: int, group: Sequence[Token]) -> Spot:
    return Spot(line.text[group[0].start : group[-1].end], number, group[0].start, group[-1].end)


def _german_nouns(lines: Sequence[Line]) -> Iterator[tuple[Spot, float]]:
    for number, line in enumerate(lines):
        for before, token in zip([None, *line.tokens], line.tokens, strict=False):
            if not token.capital or len(token.low) < 4 or token.low in _NO_NOUNS:
                continue
            determined = before is not None and before.low in _DETERMINERS
            if determined or not token.opens:
                yield _spot(line, number, [token]), (1.0 if determined else 0.5) + min(len(token.low), 16) / 32


def _content_words(lines: Sequence[Line]) -> Iterator[tuple[Spot, float]]:
    """Single words that carry meaning, where nothing shows which of them are nouns."""
    for number, line in enumerate(lines):
        for token in line.tokens:
            if token.capital:
                continue
            word = _KOREAN_ENDING.sub("", token.text)
            hangul = "\uac00" <= word[0] <= "\ud7af"
            if (2 if hangul else 3) <= len(word) <= _LONGEST_WORD and not is_stop_word(word) and not word[0].isdigit():
                yield Spot(word, number, token.start, token.start + len(word)), 0.3 + min(len(word), 10) / 20


def _wide_phrases(lines: Sequence[Line]) -> Iterator[tuple[Spot, float]]:
    """Names in marks and after a surname, runs of kanji or katakana, and what a Chinese text says twice."""
    japanese = any(_KANA.search(line.text) for line in lines)
    repeated = () if japanese else _repeated(lines)
    for number, line in enumerate(lines):
        for pattern, weight in ((_HAN_NAMED, 2.0), (_HAN_PERSON, 2.0), (_HAN_SUBJECT, 0.8)):
            if japanese and pattern is not _HAN_NAMED:
                continue
            for match in pattern.finditer(line.text):
                yield Spot(match[1], number, match.start(1), match.end(1)), weight
        if japanese:
            for match in _JAPANESE.finditer(line.text):
                if not _FIGURES.search(match[0]):
                    yield Spot(match[0], number, match.start(), match.end()), len(match[0]) / 4
        for piece in repeated:
            place = line.text.find(piece)
            if place >= 0:
                yield Spot(piece, number, place, place + len(piece)), len(piece) / 3


def _repeated(lines: Sequence[Line]) -> tuple[str, ...]:
    """Pieces of two to four characters that stand at least twice, and in no longer piece as often."""
    counts: Counter[str] = Counter()
    for line in lines:
        for run in _HAN_RUN.findall(line.text):
            for size in (2, 3, 4):
                counts.update(run[i : i + size] for i in range(len(run) - size + 1))
    often = {p: c for p, c in counts.items() if c > 1 and not _HAN_FUNCTION.intersection(p)}
    inner = {p[a:b] for p in often for a, b in ((0, -1), (1, None)) if often.get(p[a:b]) == often[p]}
    return tuple(sorted(p for p in often if p not in inner))
