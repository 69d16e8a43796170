"""What tools take. Names and defaults are those of the library's calls."""

from typing import Annotated, Literal

from pydantic import Field

from overstory.indexing.sources import SourceDocument
from overstory.results import SearchType
from overstory.serve.forms import (
    Flag,
    ForgetForm,
    Form,
    ImproveForm,
    MapForm,
    Name,
    RecallForm,
    RememberOptions,
    Tag,
    TextForm,
    Whole,
    documents_of,
)

_MOST = 1_000
_BACKGROUND = "Answer at once; `describe_dataset` tells how far the work is."


class NothingForm(Form):
    """No arguments."""


class DatasetForm(Form):
    dataset: Name = Field(default="main_dataset", description="Name or id.")


class RememberTexts(RememberOptions):
    texts: list[str | TextForm] = Field(
        min_length=1,
        max_length=_MOST,
        description="Each a text, or an object with `source`, its name: the same source with another text is an update.",
    )
    background: Flag = Field(default=False, description=_BACKGROUND)

    def documents(self) -> list[SourceDocument]:
        return documents_of(self.texts)


class RememberTextsAndFiles(RememberTexts):
    """Where the server was given folders that it may read."""

    texts: list[str | TextForm] = Field(default_factory=list, max_length=_MOST, description="Texts, as they are.")
    files: list[Annotated[str, Field(min_length=1, max_length=4_096)]] = Field(
        default_factory=list, max_length=_MOST, description="Files or folders, below the folders that may be read."
    )


class Improve(ImproveForm):
    background: Flag = Field(default=False, description=_BACKGROUND)


class Recall(Form):
    query_text: str = Field(min_length=1, description="The question.")
    datasets: list[Name] | None = Field(
        default=None, min_length=1, max_length=_MOST, description="Names or ids; all that may be read when left out."
    )
    query_type: SearchType | None = Field(
        default=None, description="How to look for an answer; chosen by the question when left out."
    )
    include_global_context_index: Flag = Field(
        default=False,
        description="Put the summary of the whole dataset and of the nearest areas in front: for questions that need the whole.",
    )
    global_context_index_top_k: Whole = Field(
        default=3, ge=0, le=_MOST, description="How many areas, in the plain form."
    )
    global_context_index_mode: Literal["plain", "adaptive"] | None = Field(
        default=None,
        description="`plain`: root and areas; `adaptive`: the facts that fit; left out, adaptive within a budget and plain without one.",
    )
    only_context: Flag = Field(
        default=False, description="No answer, but the evidence: the whole prompt that a model would be given."
    )
    top_k: Whole = Field(default=15, ge=1, le=_MOST, description="Connections, or passages, to build on.")
    context_token_budget: Whole | None = Field(default=None, ge=1, le=2**31 - 1, description="How long that may be.")
    node_name: list[Tag] | None = Field(
        default=None, min_length=1, max_length=_MOST, description="Only documents with one of these tags."
    )
    generation: Whole | None = Field(default=None, ge=0, le=2**31 - 1, description="A kept state of the index.")

    def form(self) -> RecallForm:
        """The same as HTTP has it, with its checks."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        about_map = {name: given.pop(name) for name in MapForm.model_fields if name in given}
        return RecallForm.model_validate({**given, "retriever_specific_config": about_map})


class Forget(ForgetForm):
    """`documents` has to be said: nothing is forgotten by leaving something out."""
