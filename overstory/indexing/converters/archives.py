"""Office files: zip archives of XML, read in memory and never unpacked to disk."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Any, TypeAlias
from xml.etree import ElementTree

from overstory.errors import UnreadableSourceError
from overstory.indexing.converters.converted import Converted
from overstory.indexing.converters.markup import first_heading

Element: TypeAlias = Any
_MOST_UNPACKED_BYTES = 400_000_000
_UNREAD_KINDS = {
    "xl/workbook.xml": "a spreadsheet (Excel): save its sheets as .csv",
    "content.xml": "an OpenDocument file: save it as .docx, .pptx or .pdf",
    "META-INF/container.xml": "an e-book (EPUB): save it as .pdf or .html",
}
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_UNSEEN = {f"{_W}moveFrom", f"{_W}del", f"{_COMPATIBILITY}Fallback"}
_SPACING = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_HEADING_STYLE = re.compile(r"heading (\d)|(title)", re.IGNORECASE)
_SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")


def from_archive(content: bytes, source: str) -> Converted:
    """Word or PowerPoint.

    Raises:
        UnreadableSourceError: another kind of archive, a damaged one, or one that unpacks to too much.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile as error:
        raise UnreadableSourceError(source, f"a damaged zip archive ({error})") from error
    names = set(archive.namelist())
    if sum(info.file_size for info in archive.infolist()) > _MOST_UNPACKED_BYTES:
        raise UnreadableSourceError(source, f"it unpacks to more than {_MOST_UNPACKED_BYTES // 1_000_000} MB")
    if "word/document.xml" in names:
        return _from_word(content)
    if "ppt/presentation.xml" in names:
        return _from_slides(archive, names)
    kind = next((kind for name, kind in _UNREAD_KINDS.items() if name in names), "a zip archive: unpack it first")
    raise UnreadableSourceError(source, kind)


def _from_word(content: bytes) -> Converted:
    from docx import Document

    document = Document(io.BytesIO(content))
    styles = {style.style_id: style.name or "" for style in document.styles}
    text = "\n\n".join(block for block in _blocks(document.element.body, styles) if block.strip())
    return Converted(text=text, title=first_heading(text))


def _blocks(body: Element, styles: dict[str, str]) -> Iterator[str]:
    """Paragraphs in their order; of tables, each row as one."""
    for element in body.iter(f"{_W}p", f"{_W}tr"):
        if element.tag == f"{_W}tr":
            cells = (_cell(cell) for cell in element.iter(f"{_W}tc"))
            yield " | ".join(cell for cell in cells if cell)
        elif next(element.iterancestors(f"{_W}tr"), None) is None:
            yield _heading_mark(element, styles) + _paragraph(element)


def _cell(cell: Element) -> str:
    own = (p for p in cell.iter(f"{_W}p") if next(p.iterancestors(f"{_W}tc")) is cell)
    return " ".join(" ".join(map(_paragraph, own)).split())


def _heading_mark(paragraph: Element, styles: dict[str, str]) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    found = _HEADING_STYLE.fullmatch(styles.get(style.get(f"{_W}val"), "")) if style is not None else None
    return "#" * int(found[1] or 1) + " " if found else ""


def _paragraph(paragraph: Element) -> str:
    """The text that a reader sees: with insertions accepted, without what is deleted, moved away or hidden."""
    return "".join(
        node.text or "" if node.tag == f"{_W}t" else _SPACING[node.tag]
        for node in paragraph.iter(f"{_W}t", *_SPACING)
        if _is_seen(node, paragraph)
    )


def _is_seen(node: Element, paragraph: Element) -> bool:
    for ancestor in node.iterancestors():
        if ancestor is paragraph:
            return True
        hidden = ancestor.tag == f"{_W}r" and ancestor.find(f"{_W}rPr/{_W}vanish") is not None
        if (
            hidden or ancestor.tag in _UNSEEN or ancestor.tag in (f"{_W}p", f"{_W}tabs")
        ):  # a paragraph within is told alone
            return False
    return True


def _from_slides(archive: zipfile.ZipFile, names: set[str]) -> Converted:
    numbers = sorted(int(found[1]) for name in names if (found := _SLIDE.fullmatch(name)))
    text = "\n\n".join(_slide(archive, names, number) for number in numbers)
    title = next((line for line in text.splitlines() if line), "")
    return Converted(text=text, title=title[:200])


def _slide(archive: zipfile.ZipFile, names: set[str], number: int) -> str:
    """A slide's text, then its speaker notes."""
    lines = _lines(archive, f"ppt/slides/slide{number}.xml")
    relations = f"ppt/slides/_rels/slide{number}.xml.rels"
    if relations in names:
        for relation in _parse(archive, relations):
            part = posixpath.normpath(posixpath.join("ppt/slides", relation.get("Target", "")))
            if relation.get("Type", "").endswith("/notesSlide") and part in names:
                lines += ["", *_lines(archive, part)]
    return "\n".join(lines)


def _lines(archive: zipfile.ZipFile, name: str) -> list[str]:
    paragraphs = ("".join(run.text or "" for run in p.iter(f"{_A}t")) for p in _parse(archive, name).iter(f"{_A}p"))
    return [line for line in paragraphs if line.strip()]


def _parse(archive: zipfile.ZipFile, name: str) -> Element:
    return ElementTree.fromstring(archive.read(name))
