"""What requests say. Names and defaults are those of the library's calls."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from overstory.access import MAX_NAME_CHARACTERS
from overstory.indexing.cleaning import clean
from overstory.indexing.sources import MAX_SOURCE_CHARACTERS, SourceDocument
from overstory.judging import STEP, Feedback
from overstory.layout import retrieval
from overstory.results import RecallResult, SearchType

MAX_WAIT_SECONDS = 300
_MOST = 1_000
_MOST_EVIDENCE = 10_000
_MOST_MOVED = STEP + 1e-9  # as floating point subtracts
_LONGEST_NUMBER = 2**31 - 1


def _name(value: str) -> str:
    if not (cleaned := clean(value)).strip():
        raise ValueError("it has no visible character")
    return cleaned


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS), AfterValidator(_name)]
Text = Annotated[str, AfterValidator(clean)]
"""Without control characters, which nobody types."""
Flag = Annotated[bool, Field(strict=True)]
Number = Annotated[float, Field(strict=True)]
Whole = Annotated[int, Field(strict=True)]
Tag = Annotated[str, Field(min_length=1, pattern=r"\S")]
QueryTag = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)]
Wait = Annotated[Number, Field(ge=0, le=MAX_WAIT_SECONDS, description="How long to wait for another writer.")]
Count = Annotated[Whole, Field(ge=0, le=_LONGEST_NUMBER)]
Usd = Annotated[Number, Field(ge=0, allow_inf_nan=False)]


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TextForm(Form):
    """A text with what is known about it. `source` is only a name: the server opens no place for it."""

    text: str
    source: str = Field(default="", max_length=MAX_SOURCE_CHARACTERS)
    title: str = ""
    occurred_at: str = Field(default="", description="ISO 8601: a date, or a time with its offset.")
    node_set: list[str] = Field(default_factory=list, max_length=_MOST)
    importance_weight: Number = Field(default=0.5, ge=0, le=1)

    def document(self) -> SourceDocument:
        return SourceDocument(**self.model_dump())


class RememberOptions(Form):
    """All but what is remembered."""

    dataset: Name = "main_dataset"
    node_set: list[str] = Field(
        default_factory=list, max_length=_MOST, description="Tags; recall can be limited to them."
    )
    self_improvement: Flag = Field(default=True, description="Also bring the index up to date, where there is one.")
    background: Flag = Field(default=False, description="Answer at once with a job.")
    wait_seconds: Wait = 0


def documents_of(texts: Sequence[str | TextForm]) -> list[SourceDocument]:
    return [SourceDocument(one) if isinstance(one, str) else one.document() for one in texts]


class RememberForm(RememberOptions):
    texts: list[str | TextForm] = Field(min_length=1, max_length=10_000)

    def documents(self) -> list[SourceDocument]:
        return documents_of(self.texts)


class ImproveForm(Form):
    dataset: Name = "main_dataset"
    build_global_context_index: Flag = True
    background: Flag = Field(default=False, description="Answer at once with a job.")
    wait_seconds: Wait = 0
    max_calls: Count | None = None
    max_cost_usd: Usd | None = None


class RebuildForm(Form):
    """What is left out stays as the served index has it."""

    dataset: Name = "main_dataset"
    reuse_unchanged: Flag = Field(
        default=False,
        description="Keep texts whose inputs, prompt and model are the same, and pay for the others only.",
    )
    bucketing_strategy: Literal["graph", "vector"] | None = None
    max_bucket_size: Whole | None = Field(default=None, ge=2, le=_MOST)
    placement_distance_threshold: Number | None = Field(default=None, ge=0, le=2)
    min_overlap: Number | None = Field(default=None, ge=0, le=1)
    background: Flag = Field(default=False, description="Answer at once with a job.")
    wait_seconds: Wait = 0
    max_calls: Count | None = None
    max_cost_usd: Usd | None = None


class RollbackForm(Form):
    dataset: Name = "main_dataset"
    generation: Count
    wait_seconds: Wait = 0


class PreviewForm(Form):
    dataset: Name = "main_dataset"


class ForgetForm(Form):
    dataset: Name
    documents: Annotated[list[str], Field(min_length=1, max_length=10_000)] | Literal["all"] = Field(
        description="Sources or ids of documents; `all` for the whole dataset."
    )
    prove: Flag = False
    wait_seconds: Wait = 0


class ForgetSessionForm(Form):
    session_id: str = Field(min_length=1, max_length=MAX_NAME_CHARACTERS, pattern=r"\S")


class FeedbackForm(Form):
    result: RecallResult = Field(description="A `result` of recall, as it came.")
    score: Number = Field(ge=-1, le=1, description="From -1, wrong or misled by its evidence, to 1, just right.")
    text: str = Field(
        default="",
        max_length=retrieval.question.MAX_QUESTION_CHARACTERS,
        description="Why; it comes back, nothing keeps it.",
    )

    @field_validator("result")
    @classmethod
    def _not_endless(cls, result: RecallResult) -> RecallResult:
        if len(result.evidence.passages) + len(result.evidence.triplets) > _MOST_EVIDENCE:
            raise ValueError(f"its evidence may name {_MOST_EVIDENCE:,} passages and triplets at most")
        return result


class UndoFeedbackForm(Form):
    """What feedback has answered, as it came."""

    dataset_id: UUID
    score: Number = Field(ge=-1, le=1)
    text: str = Field(default="", max_length=retrieval.question.MAX_QUESTION_CHARACTERS)
    moved: dict[UUID, Annotated[float, Field(ge=-_MOST_MOVED, le=_MOST_MOVED)]] = Field(
        max_length=4 * _MOST_EVIDENCE, description="By how much each weight was moved."
    )

    def feedback(self) -> Feedback:
        return Feedback(dataset_id=self.dataset_id, score=self.score, text=self.text, moved=self.moved)


class MapForm(Form):
    """Whether the map, that is the root and the nearest areas, stands before what was found."""

    include_global_context_index: Flag = False
    global_context_index_top_k: Whole = Field(default=3, ge=0, le=_MOST)
    global_context_index_mode: Literal["plain", "adaptive"] | None = Field(
        default=None,
        description="`plain`: root and areas; `adaptive`: the facts that fit; left out, adaptive within a budget and plain without one.",
    )


class RecallForm(Form):
    query_text: Annotated[
        str,
        Field(min_length=1, max_length=retrieval.question.MAX_QUESTION_CHARACTERS, pattern=r"\S"),
        AfterValidator(clean),
    ]
    query_type: SearchType | None = None
    datasets: list[Name] | None = Field(
        default=None, min_length=1, max_length=_MOST, description="Names or ids; all that one may read when left out."
    )
    session_id: str | None = Field(default=None, min_length=1, max_length=MAX_NAME_CHARACTERS)
    auto_route: Flag = True
    top_k: Whole = Field(default=15, ge=1, le=_MOST)
    only_context: Flag = Field(default=False, description="Call no model; `text` is the whole prompt.")
    wide_search_top_k: Whole = Field(default=100, ge=1, le=10_000)
    node_name: list[Tag] | None = Field(default=None, min_length=1, max_length=_MOST)
    node_name_filter: Literal["OR", "AND"] = "OR"
    neighborhood_depth: Whole | None = Field(default=None, ge=1, le=4)
    context_token_budget: Whole | None = Field(default=None, ge=1, le=_LONGEST_NUMBER)
    system_prompt: Text | None = None
    include_references: Flag = False
    retriever_specific_config: MapForm = Field(default_factory=MapForm)
    generation: Whole | None = Field(default=None, ge=0, le=_LONGEST_NUMBER)
    feedback_influence: Number = Field(default=0.0, ge=0, le=1)
    stream: Flag = Field(default=False, description="Answer with server-sent events: `piece`, then `result`.")
    explain: Flag = Field(default=False, description="With `only_context`: also the prompt in its parts.")

    def options(self) -> dict[str, Any]:
        """The arguments of `recall` that were given."""
        own = {"stream", "explain"}
        given = {name: getattr(self, name) for name in self.model_fields_set - own}
        if "retriever_specific_config" in given:
            given["retriever_specific_config"] = self.retriever_specific_config.model_dump()
        return given
