"""What requests say. Names and defaults are those of the library's calls."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from overstory.access import MAX_NAME_CHARACTERS
from overstory.indexing.cleaning import clean
from overstory.indexing.sources import MAX_SOURCE_CHARACTERS, SourceDocument
from overstory.results import SearchType

MAX_WAIT_SECONDS = 300
_MOST = 1_000
MAX_QUESTION_CHARACTERS = 32_000
_LONGEST_NUMBER = 2**31 - 1

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS), AfterValidator(clean)]
Text = Annotated[str, AfterValidator(clean)]
"""Without control characters, which nobody types."""
Flag = Annotated[bool, Field(strict=True)]
Number = Annotated[float, Field(strict=True)]
Whole = Annotated[int, Field(strict=True)]
Tag = Annotated[str, Field(min_length=1, pattern=r"\S")]
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


class RememberForm(RememberOptions):
    texts: list[str | TextForm] = Field(min_length=1, max_length=10_000)

    def documents(self) -> list[SourceDocument]:
        return [SourceDocument(one) if isinstance(one, str) else one.document() for one in self.texts]


class ImproveForm(Form):
    dataset: Name = "main_dataset"
    build_global_context_index: Flag = True
    background: Flag = Field(default=False, description="Answer at once with a job.")
    wait_seconds: Wait = 0
    max_calls: Count | None = None
    max_cost_usd: Usd | None = None


class PreviewForm(Form):
    dataset: Name = "main_dataset"


class ForgetForm(Form):
    dataset: Name
    documents: Annotated[list[str], Field(min_length=1, max_length=10_000)] | Literal["all"] = Field(
        description="Sources or ids of documents; `all` for the whole dataset."
    )
    prove: Flag = False
    wait_seconds: Wait = 0


class MapForm(Form):
    """Whether the map, that is the root and the nearest areas, stands before what was found."""

    include_global_context_index: Flag = False
    global_context_index_top_k: Whole = Field(default=3, ge=0, le=_MOST)
    global_context_index_mode: Literal["plain", "adaptive"] = "plain"


class RecallForm(Form):
    query_text: Annotated[
        str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS, pattern=r"\S"), AfterValidator(clean)
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
