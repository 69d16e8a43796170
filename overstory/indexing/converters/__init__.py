"""From the bytes of a file to its text: what a file says it is by its content counts, then its extension."""

from pathlib import PurePosixPath

from overstory.errors import UnreadableSourceError
from overstory.indexing.cleaning import clean
from overstory.indexing.converters import archives, data, mail, markup
from overstory.indexing.converters.converted import Converted
from overstory.indexing.decoding import decode

_SIGNATURES = (
    (b"\x89PNG", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"II*\x00", "a picture (TIFF)"),
    (b"MM\x00*", "a picture (TIFF)"),
    (b"RIFF", "a picture, sound or film (RIFF)"),
    (b"ID3", "sound (MP3)"),
    (b"OggS", "sound (Ogg)"),
    (b"fLaC", "sound (FLAC)"),
    (b"\x1f\x8b", "a compressed file (gzip): unpack it first"),
    (b"BZh", "a compressed file (bzip2): unpack it first"),
    (b"\xfd7zXZ", "a compressed file (xz): unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a compressed file (zstd): unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z): unpack it first"),
    (b"Rar!", "an archive (RAR): unpack it first"),
    (
        b"\xd0\xcf\x11\xe0",
        "an Office file from before 2007, or one with a password: save it as .docx, .pptx or .pdf without one",
    ),
    (b"SQLite format 3\x00", "a database (SQLite): export what is to be remembered as .csv"),
    (b"PAR1", "a table (Parquet): export it as .csv"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"{\\rtf", "Rich Text: save it as .docx or .pdf"),
)
_BY_EXTENSION = {
    "": markup.from_plain,
    ".txt": markup.from_plain,
    ".text": markup.from_plain,
    ".md": markup.from_plain,
    ".markdown": markup.from_plain,
    ".rst": markup.from_plain,
    ".html": markup.from_html,
    ".htm": markup.from_html,
    ".xhtml": markup.from_html,
    ".csv": data.from_csv,
    ".tsv": data.from_csv,
    ".json": data.from_json,
    ".ipynb": data.from_json,
}
_BY_LINES = (".jsonl", ".ndjson")
_MAIL = {".eml": mail.from_mail, ".mbox": mail.from_mbox}
_PDF_HEADER_WITHIN_BYTES = 1_024


def convert(content: bytes, source: str) -> Converted:
    """The text of a file, with title and date where the file itself names them.

    Args:
        content: the whole file.
        source: its name or key, told in errors; its extension is a hint.

    Raises:
        UnreadableSourceError: it is of a kind that can't be read, damaged, or locked by a password.
    """
    if b"%PDF-" in content[:_PDF_HEADER_WITHIN_BYTES]:
        from overstory.indexing.converters import pdf

        return pdf.from_pdf(content, source)
    if content.startswith(b"PK\x03\x04"):
        return archives.from_archive(content, source)
    for signature, kind in _SIGNATURES:
        if content.startswith(signature):
            raise UnreadableSourceError(source, kind)
    return _from_text(content, source)


def _from_text(content: bytes, source: str) -> Converted:
    extension = PurePosixPath(source).suffix.lower()
    if extension in _MAIL:
        return _MAIL[extension](content, source)
    decoded = decode(content, source, markup.declared_encoding(content))
    text = clean(decoded)
    if markup.is_html(text):
        return markup.from_html(text)
    if extension in _BY_LINES:
        return data.from_json_lines(decoded)
    converter = _BY_EXTENSION.get(extension)
    return converter(text) if converter else Converted(text=text)
