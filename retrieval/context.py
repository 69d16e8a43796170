"""The text of a context, to the letter, and the escaping that keeps documents from forging it.

    Nodes:
    Node: Anna Hofer
    __node_content_start__
    …
    __node_content_end__

    Connections:
    Anna Hofer --[works_on]--> Northstar

Names are put on one line and lose every mark of ours; texts keep their lines. What could be read as a mark gets
one backslash: `World summary\\:`, `__node_content\\_end__`, `--\\[`, and where a line or fact begins `Earlier\\:`,
`source\\:`; in the name of a document `\\, 2031-01-01`, at the end of a title `\\(2031-01-01)`. Nothing else is changed.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from uuid import UUID

from overstory.indexing.rendering import EARLIER
from overstory.models import DocumentChunk, Entity, TextSummary
from overstory.tokens import estimate_tokens

from .fragment import Connection, Fragment
from .projections import Node

NODES = "Nodes:"
CONNECTIONS = "Connections:"
WORLD_SUMMARY = "World summary:"
RELEVANT_AREAS = "Relevant areas:"
CONTENT_START = "__node_content_start__"
CONTENT_END = "__node_content_end__"
_NO_CONTENT = f"\n{CONTENT_START}\n\n{CONTENT_END}"

MAX_NAME_CHARACTERS = 300
_TITLE_WORDS = 7
_FREQUENT_WORDS = 3
_FREQUENT_WORD_LETTERS = 4
_LONGEST_WORD = 30

_FENCE = re.compile(r"(__node_content)(_(?:start|end)__)", re.IGNORECASE)
_ARROW = re.compile(r"--(?=\[)|\](?=-->)")
_HEADING = r"(world\s+summary|relevant\s+areas|nodes?|connections)(\s*):"
_HEADING_ANYWHERE = re.compile(rf"(?<![^\W_]){_HEADING}", re.IGNORECASE)
_HEADING_LINE = re.compile(rf"^((?:[^\w\n]|_)*){_HEADING}", re.IGNORECASE | re.MULTILINE)
_MARK_LINE = re.compile(
    r"^((?:[^\w\n]|_)*)(earlier|current|facts|this (?:area of the )?dataset\b[^:\n]{0,80}|source|summary of what was found|"
    r"the conversation so far|the question is|answer it from this context)(\s*):",
    re.IGNORECASE | re.MULTILINE,
)
_COLON = re.compile(r"(?<!\\):(?=\s|$)")
_DATE = r"\d{4}-\d\d(?:-\d\d(?:T[^\s,)]*)?)?"
_DATE_ALONE = re.compile(rf"^(?={_DATE}(?:[\s,]|$))|(?=,\s*{_DATE}(?:[\s,]|$))")
_DATE_BEFORE = re.compile(rf"^(?=\(?{_DATE}\s*[,:)])")
_DATE_BEHIND = re.compile(rf"(?=\({_DATE}\)\W*$)")
_MARKDOWN_LINE = re.compile(r"^([^\S\n]*)(#{1,6}(?:[^\S\n]|$)|---+[^\S\n]*$|===+[^\S\n]*$)", re.MULTILINE)
_WORD = re.compile(rf"[^\W\d_]{{{_FREQUENT_WORD_LETTERS},}}")


def clean_name(name: str) -> str:
    """A name on one line, without any mark of ours."""
    line = " ".join(name.split())
    if len(line) > MAX_NAME_CHARACTERS:
        line = line[: MAX_NAME_CHARACTERS - 1].rstrip() + "…"
    return _without_marks(line)


def _without_marks(line: str) -> str:
    """A line of a name or fact; each mark is looked for only where there is a character that it has."""
    if "_" in line:
        line = _FENCE.sub(r"\1\\\2", line)
    if "[" in line or "]" in line:
        line = _ARROW.sub(lambda mark: {"--": "--\\", "]": "]\\"}[mark[0]], line)
    return _MARK_LINE.sub(r"\1\2\3\\:", _HEADING_ANYWHERE.sub(r"\1\2\\:", line)) if ":" in line else line


def clean_source(source: str) -> str:
    """What a document is called, as `clean_name` gives it: no date and no mark stands in it as ours do beside it."""
    return _DATE_ALONE.sub(r"\\", _COLON.sub(r"\:", clean_name(source)))


def clean_fact(text: str) -> str:
    """A fact on one line, without any mark or date of ours before it."""
    return _DATE_BEFORE.sub(r"\\", clean_name(text))


def clean_text(text: str) -> str:
    """A text with its lines, none of which is a heading, a mark or a fence of ours."""
    return _MARK_LINE.sub(r"\1\2\3\\:", _without_headings(text))


def clean_markdown(text: str) -> str:
    """A text as `clean_text` gives it, none of whose lines is a Markdown heading or rule either."""
    return _MARKDOWN_LINE.sub(r"\1\\\2", clean_text(text))


def clean_area(text: str) -> str:
    """A text of the index, whose headings and marks are ours: its categories and facts have none, and no date."""
    lines = _without_headings(text).split("\n")
    return _MARKDOWN_LINE.sub(r"\1\\\2", "\n".join(map(_clean_area_line, lines)))


def _clean_area_line(line: str) -> str:
    mark = next((mark for mark in (f"- {EARLIER}", "- ") if line.startswith(mark)), "")
    return mark + _DATE_BEFORE.sub(r"\\", _without_marks(line.removeprefix(mark))) if mark else line


def _without_headings(text: str) -> str:
    lines = "\n".join(text.splitlines()).strip()
    lines = _FENCE.sub(r"\1\\\2", lines)
    return _HEADING_LINE.sub(r"\1\2\3\\:", lines)


def title_of(node: Node) -> str:
    """What a node is called: an entity by its name, a text by its first words, its commonest ones and its date."""
    if isinstance(node, Entity):
        return _undated(clean_name(node.name))
    return _text_title(node)


def titles_of(fragment: Fragment) -> dict[UUID, str]:
    return {node.id: title_of(node) for node in fragment.nodes}


def _text_title(node: DocumentChunk | TextSummary) -> str:
    words = node.text.split()
    start = " ".join(words[:_TITLE_WORDS])
    start = start.rstrip(".,;:…") + "…" if len(words) > _TITLE_WORDS else start
    # most_common keeps the order of first appearance among equals, so a title is the same every time
    frequent = Counter(word.lower() for word in _WORD.findall(node.text)).most_common(_FREQUENT_WORDS)
    common = f" [{', '.join(word for word, _ in frequent)}]" if frequent else ""
    date = f" ({node.occurred_at})" if node.occurred_at else ""
    return f"{_undated(clean_name(f'{start}{common}'))}{date}"


def _undated(title: str) -> str:
    """A title that does not end with a date as ours do."""
    return _DATE_BEHIND.sub(r"\\", title)


def content_of(node: Node, texts: Sequence[str] = ()) -> str:
    """What a node says: an entity by its description, unless one of the texts says that already."""
    if not isinstance(node, Entity):
        return clean_text(node.text)
    description = "" if _is_told(node, texts) else node.description
    return clean_text(description) or clean_name(node.type) or clean_name(node.name)


def described(fragment: Fragment) -> list[Entity]:
    """The entities of a fragment whose descriptions are given."""
    texts = _texts(fragment)
    return [node for node in fragment.nodes if isinstance(node, Entity) and not _is_told(node, texts)]


def sentence_of(connection: Connection) -> str:
    """What a connection says: the sentence that states it, or one of the names of its ends."""
    if connection.text.strip():
        return clean_fact(connection.text)
    ends = [end.name if isinstance(end, Entity) else "" for end in (connection.source, connection.target)]
    return clean_fact(f"{ends[0]} {connection.relationship_name.replace('_', ' ')} {ends[1]}")


def _is_told(entity: Entity, texts: Sequence[str]) -> bool:
    told = " ".join(entity.description.split())
    return any(told in text for text in texts)


def given_of(text: str, fragment: Fragment) -> str:
    """What a fragment gives of a text that is in it."""
    return text if fragment.content_tokens is None else shorten(clean_text(text), fragment.content_tokens)


def _texts(fragment: Fragment) -> list[str]:
    return [" ".join(node.text.split()) for node in fragment.nodes if not isinstance(node, Entity)]


# --- the graph context -----------------------------------------------------------------------------


def render_fragment(fragment: Fragment) -> str:
    """The nodes and connections of a fragment; empty for an empty one."""
    titles, texts, most = titles_of(fragment), _texts(fragment), fragment.content_tokens
    nodes = [_render_node(titles[node.id], _shortened(content_of(node, texts), most)) for node in fragment.nodes]
    sections = [section(NODES, "\n".join(nodes)), section(CONNECTIONS, "\n".join(_connections(fragment, titles)))]
    return join(*sections)


def _render_node(title: str, content: str) -> str:
    return f"Node: {title}\n{CONTENT_START}\n{content}\n{CONTENT_END}"


def _connections(fragment: Fragment, titles: Mapping[UUID, str]) -> Iterable[str]:
    for connection in fragment.connections:
        name = clean_name(connection.relationship_name)
        yield f"{titles[connection.source.id]} --[{name}]--> {titles[connection.target.id]}"


def fit_fragment(fragment: Fragment, budget_tokens: int | None) -> tuple[Fragment, str]:
    """As many of the best connections as a budget has room for, and their text.

    Where not even the best one has room, its texts are shortened; where that is not enough, nothing is left.
    """
    return fitter(fragment)(budget_tokens)


def fitter(fragment: Fragment) -> Callable[[int | None], tuple[Fragment, str]]:
    """What `fit_fragment` gives within each of several budgets; no part of the fragment is rendered twice."""

    @cache
    def rendered(count: int) -> tuple[str, int]:
        text = render_fragment(fragment.first(count))
        return text, estimate_tokens(text)

    def fit(budget_tokens: int | None) -> tuple[Fragment, str]:
        if budget_tokens is None:
            return fragment, rendered(fragment.size)[0]
        low, high = 0, fragment.size
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if rendered(middle)[1] <= budget_tokens else (low, middle - 1)
        if low or not fragment.size:
            return fragment.first(low), rendered(low)[0]
        return _shorten(fragment.first(1), budget_tokens)

    return fit


def _shorten(fragment: Fragment, budget_tokens: int) -> tuple[Fragment, str]:
    size = budget_tokens
    while size:
        short = replace(fragment, content_tokens=size)
        text = render_fragment(short)
        if estimate_tokens(text) <= budget_tokens:
            return (short, text) if _NO_CONTENT not in text else (fragment.first(0), "")
        size //= 2
    return fragment.first(0), ""


def least_budget(fit: Callable[[int | None], str]) -> int:
    """The least budget within which something is given, in tokens; 0 where nothing was found.

    Args:
        fit: the text that is given within a number of tokens (None for no limit).
    """
    low, high = 0, estimate_tokens(fit(None))
    while high and not fit(high):  # what is given gets a part of the budget alone
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fit(middle) else (middle, high)
    return high


def _shortened(text: str, max_tokens: int | None) -> str:
    return text if max_tokens is None else shorten(text, max_tokens)


def shorten(text: str, max_tokens: int) -> str:
    """The beginning of a text, cut after a word and marked, at most so many tokens long; empty where that says nothing."""
    if estimate_tokens(text) <= max_tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = estimate_tokens(text[:middle] + " …") <= max_tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    whole_words = _whole_words(text, low)
    return f"{whole_words} …" if any(map(str.isalnum, whole_words)) else ""


def _whole_words(text: str, length: int) -> str:
    """The first `length` characters of a text without the word that they cut, unless that is a long one."""
    start = text[:length]
    if " " in start[-_LONGEST_WORD:]:
        return start.rsplit(maxsplit=1)[0].rstrip() if start.strip() else ""
    is_in_first_word = length < _LONGEST_WORD and " " in text[:_LONGEST_WORD]
    return "" if is_in_first_word else start.rstrip()


def join(*parts: str) -> str:
    """Parts of a context, separated by a blank line; empty ones are left out."""
    return "\n\n".join(part for part in parts if part)


def section(heading: str, body: str) -> str:
    """A part of a context under its heading; empty for an empty one."""
    return f"{heading}\n{body}" if body else ""
