"""Plain text, Markdown and HTML."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from overstory.indexing.converters.converted import Converted
from overstory.indexing.converters.dates import written_date

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import PageElement, Tag

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_MATTER_WITHIN = 20_000
_ENTRY = re.compile(r"^(title|date)[ \t]*:[ \t]*(.+?)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(
    r"^#{1,6}[ \t]+(.+?)[ \t#]*(?:\{[^}\n]*\})?[ \t]*$|^(\S.*)\n(?:={3,}|-{3,}|~{3,})[ \t]*$", re.MULTILINE
)
_HEADING_WITHIN = 10_000
_LONGEST_TITLE = 200

_LOOKS_LIKE_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_DECLARED = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE
)
_DECLARED_WITHIN_BYTES = 2_048
_UNSEEN_NAMES = "script style template noscript head iframe object svg math select datalist"
_UNSEEN_TAGS = frozenset(_UNSEEN_NAMES.split())
_UNSEEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])|opacity\s*:\s*0(?![.\d]*[1-9])",
    re.IGNORECASE,
)
_PARAGRAPH, _LINE = "\x1e", "\x1d"
"""Stand for borders until the blanks of the markup are gone; clean text holds neither."""
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_BLOCK_NAMES = (
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer form "
    "header hr main nav ol p section summary table tbody tfoot thead ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_SMALL_BORDERS = {
    "tr": (_LINE, ""),
    "li": (f"{_LINE}- ", ""),
    "br": (_LINE, ""),
    "td": ("", " | "),
    "th": ("", " | "),
}
_DATE_TAGS = ("article:published_time", "date", "dc.date", "dcterms.date", "datepublished", "pubdate")


def from_plain(text: str) -> Converted:
    """Text or Markdown as it is, with title and date from front matter or the first heading."""
    front, body = _front_matter(text)
    entries = {name.lower(): value.strip("\"'") for name, value in _ENTRY.findall(front)}
    title = entries.get("title") or first_heading(body)
    return Converted(text=text, title=title, occurred_at=written_date(entries.get("date", "")))


def first_heading(text: str) -> str:
    """The first Markdown or underlined heading that is not within a code fence."""
    beginning = text[:_HEADING_WITHIN]
    found = _HEADING.search(_FENCE.sub("", beginning) if "```" in beginning or "~~~" in beginning else beginning)
    return (found[1] or found[2]).strip()[:_LONGEST_TITLE] if found else ""


def is_html(text: str) -> bool:
    return _LOOKS_LIKE_HTML.match(text[:_DECLARED_WITHIN_BYTES]) is not None


def declared_encoding(content: bytes) -> str:
    """The encoding that an HTML or XML file names at its beginning, empty for none."""
    found = _DECLARED.search(content[:_DECLARED_WITHIN_BYTES])
    return found[1].decode("ascii") if found else ""


def from_html(text: str) -> Converted:
    """What a reader of the page sees; headings as Markdown, a table row a line."""
    from bs4 import BeautifulSoup

    text = text.replace(_PARAGRAPH, "").replace(_LINE, "")
    page = BeautifulSoup(text, "lxml")
    body = _without_marks("".join(_seen(page)))
    title = page.title.get_text(" ", strip=True) if page.title else ""
    return Converted(text=body, title=first_heading(body) or title, occurred_at=_page_date(page))


def _front_matter(text: str) -> tuple[str, str]:
    found = _FRONT_MATTER.match(text[:_FRONT_MATTER_WITHIN]) if text.startswith("---") else None
    if found is None or ":" not in found[1]:
        return "", text
    return found[1], text[found.end() :]


def _is_unseen(tag: "Tag") -> bool:
    return tag.name in _UNSEEN_TAGS or tag.has_attr("hidden") or bool(_UNSEEN_STYLE.search(str(tag.get("style", ""))))


def _page_date(page: "BeautifulSoup") -> str:
    for tag in page("meta", content=True):
        name = str(tag.get("property") or tag.get("name") or tag.get("itemprop") or "")
        if name.lower() in _DATE_TAGS:
            return written_date(str(tag["content"]))
    return ""


def _seen(page: "BeautifulSoup") -> Iterator[str]:
    """The page's text with marks for borders; depth costs no stack."""
    from bs4.element import CData, NavigableString, Tag

    waiting: list[PageElement | str] = [page]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Tag):
            if node.name == "pre":
                yield _PARAGRAPH + node.get_text().replace("\n", _LINE).replace(" ", "\xa0") + _PARAGRAPH
            elif not _is_unseen(node):
                before, after = _borders(node.name)
                waiting += [after, *reversed(node.contents), before]
        elif type(node) in (NavigableString, CData, str):  # other strings are comments and the like
            yield str(node)


def _borders(name: str) -> tuple[str, str]:
    """What stands before and after the text of a tag."""
    if name in _HEADINGS:
        return f"{_PARAGRAPH}{'#' * int(name[1])} ", _PARAGRAPH
    if name in _BLOCKS:
        return _PARAGRAPH, _PARAGRAPH
    return _SMALL_BORDERS.get(name, ("", ""))


def _without_marks(text: str) -> str:
    text = re.sub(r"[ \t\n\r\f]+", " ", text)
    text = re.sub(rf" ?\|? ?(?=[{_PARAGRAPH}{_LINE}])", "", text)
    text = re.sub(rf"[ {_LINE}]*{_PARAGRAPH}[ {_LINE}{_PARAGRAPH}]*", "\n\n", text)
    text = re.sub(rf" *{_LINE}[ {_LINE}]*", "\n", text)
    return text.replace("\xa0", " ").strip()
