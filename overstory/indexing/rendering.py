"""From an area's structure to its text: the one form in which buckets and roots are read."""

import re

from overstory.models import AreaContent, Fact

BUCKET_HEADING = "This area of the dataset is about:"
ROOT_HEADING = "This dataset is about:"
FACTS_HEADING = "Facts:"
EARLIER = "Earlier: "
CURRENT = "Current: "
"""What stands before a fact, where another one gives a later or an earlier value."""
_MARK = re.compile(r"^([\W_]*(?:earlier|current)\s*):", re.IGNORECASE)


def render_area(content: AreaContent, *, is_root: bool) -> str:
    """The text of a bucket or the root; empty when it has no fact, the facts alone when it has no category."""
    if not content.facts:
        return ""
    heading = ROOT_HEADING if is_root else BUCKET_HEADING
    categories = [f"- {unmarked(category.name + ':')} {', '.join(category.topics)}" for category in content.categories]
    about = [heading, *categories, ""] if categories else []
    return "\n".join([*about, FACTS_HEADING, *map(render_fact, content.facts)])


def render_fact(fact: Fact) -> str:
    return f"- {EARLIER if fact.superseded else ''}{unmarked(fact.text)}"


def unmarked(text: str) -> str:
    """A text that does not begin with a mark of ours: one of its own gets a backslash."""
    return _MARK.sub(r"\1\\:", text)
