"""PDF: its text layer, page by page."""

import io
import re

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

from overstory.errors import UnreadableSourceError
from overstory.indexing.cleaning import is_blank
from overstory.indexing.converters.converted import Converted

_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-ZÀ-Þ])")


def from_pdf(content: bytes, source: str) -> Converted:
    """The text of all pages, words broken at line ends mended.

    Raises:
        UnreadableSourceError: it needs a password, is damaged, or has no text layer.
    """
    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableSourceError(source, "this PDF needs a password")
        pages = [page.extract_text() for page in reader.pages]
    except DependencyError as error:
        raise UnreadableSourceError(source, "this PDF is encrypted: save it without encryption") from error
    except PyPdfError as error:
        raise UnreadableSourceError(source, f"this PDF is damaged ({error})") from error
    text = _BROKEN_WORD.sub("", "\n\n".join(pages))
    if is_blank(text):
        raise UnreadableSourceError(source, "no text in it: empty pages, or a scan without a text layer")
    return Converted(text=text)
