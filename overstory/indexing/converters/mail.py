"""E-mail: the headers people read, and the text."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage, MIMEPart
from email.policy import default

from overstory.indexing.cleaning import is_blank
from overstory.indexing.converters.converted import Converted
from overstory.indexing.converters.markup import from_html
from overstory.indexing.decoding import decode

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_LONGEST_HEADER = 10_000
"""The parser's time grows with the square of the length."""
_FROM_LINE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\n")


def from_mail(content: bytes, source: str) -> Converted:
    """One mail: subject, people and date, then the text; attachments are named, not read."""
    message = _parsed(content)
    if not message.keys():
        return Converted(text=decode(content, source))
    moment = _moment(message)
    return Converted(
        text=_text(message, source), title=_header(message, "Subject"), occurred_at=moment.isoformat() if moment else ""
    )


def from_mbox(content: bytes, source: str) -> Converted:
    """All mails of a mailbox in their order, dated by the latest."""
    parts = [part for part in _FROM_LINE.split(content) if part.strip()]
    messages = [_parsed(re.sub(rb"(?m)^>(>*From )", rb"\1", part)) for part in parts]
    moments = [moment for message in messages if (moment := _moment(message))]
    text = "\n\n\n".join(_text(message, source) for message in messages)
    title = _header(messages[0], "Subject") if messages else ""
    return Converted(text=text, title=title, occurred_at=max(moments).isoformat() if moments else "")


def _parsed(content: bytes) -> EmailMessage:
    return message_from_bytes(content, policy=default)


def _text(message: EmailMessage, source: str) -> str:
    headers = [f"{name}: {value}" for name in _SHOWN if (value := _header(message, name))]
    files = [f"Attachment: {name}" for part in message.walk() if (name := part.get_filename())]
    bodies = [text for text in _bodies(message, source) if not is_blank(text)]
    return "\n\n".join(["\n".join([*headers, *files]), *bodies])


def _bodies(message: EmailMessage, source: str) -> Iterator[str]:
    """The text, plain where it is given in several forms, and further parts of plain text."""
    body = message.get_body(("plain", "html"))
    if body is not None:
        yield _body(body, source)
        for part in message.iter_attachments():
            if part.get_content_type() == "text/plain" and not part.get_filename():
                yield _body(part, source)


def _body(part: MIMEPart, source: str) -> str:
    payload = part.get_payload(decode=True)
    text = decode(payload, source, part.get_content_charset("")) if isinstance(payload, bytes) else ""
    return from_html(text).text if part.get_content_type() == "text/html" else text


def _header(message: EmailMessage, name: str) -> str:
    """A header as one line; empty when it is missing, overlong or can't be understood."""
    if any(len(raw) > _LONGEST_HEADER for key, raw in message.raw_items() if key.lower() == name.lower()):
        return ""
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, LookupError, AttributeError, TypeError):  # what the parser raises on broken headers
        return ""


def _moment(message: EmailMessage) -> datetime | None:
    """When it was sent; a date with unknown offset (-0000) is in UTC by RFC 5322."""
    try:
        moment = getattr(message["Date"], "datetime", None)
    except (ValueError, IndexError, LookupError, AttributeError, TypeError):
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
