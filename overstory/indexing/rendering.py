"""From an area's structure to its text: the one form in which buckets and roots are read."""

from overstory.models import AreaContent, Fact

BUCKET_HEADING = "This area of the dataset is about:"
ROOT_HEADING = "This dataset is about:"
FACTS_HEADING = "Facts:"
EARLIER = "Earlier: "


def render_area(content: AreaContent, *, is_root: bool) -> str:
    """The text of a bucket or the root; empty when it has no fact."""
    if not content.facts:
        return ""
    heading = ROOT_HEADING if is_root else BUCKET_HEADING
    categories = [f"- {category.name}: {', '.join(category.topics)}" for category in content.categories]
    facts = [render_fact(fact) for fact in content.facts]
    return "\n".join([heading, *categories, "", FACTS_HEADING, *facts])


def render_fact(fact: Fact) -> str:
    return f"- {EARLIER if fact.superseded else ''}{fact.text}"
