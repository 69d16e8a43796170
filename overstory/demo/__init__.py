"""What the demo reads: the notes of one project over eight months, and a question that needs them all."""

from importlib.resources import files

from overstory.indexing.sources import SourceDocument

QUESTION = "How did the launch plan of the Heron change, and where does it stand now?"
_DATE_CHARACTERS = len("2026-01-12")


def read_notes() -> tuple[SourceDocument, ...]:
    """The notes, in the order of their dates."""
    notes = sorted((entry for entry in files(__name__).joinpath("notes").iterdir()), key=lambda entry: entry.name)
    return tuple(_note(entry.name, entry.read_text(encoding="utf-8")) for entry in notes if entry.name.endswith(".md"))


def _note(name: str, text: str) -> SourceDocument:
    heading, _, body = text.partition("\n")
    return SourceDocument(body.strip(), source=name, title=heading.lstrip("# "), occurred_at=name[:_DATE_CHARACTERS])
