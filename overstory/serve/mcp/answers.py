"""What tools answer: a form, and for recall a text that can be read as it is."""

from collections import Counter
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from overstory.results import (
    DatasetStatus,
    DocumentStatus,
    ImproveResult,
    IndexResult,
    IndexStatus,
    RecallResult,
    RememberResult,
)
from overstory.serve.views import JobView


class ListedDataset(BaseModel):
    name: str
    id: UUID
    own: bool = Field(description="Others are shared, and reached by their id.")
    generation: int = Field(description="Of the index that is served; 0 where there is none.")
    built_at: datetime | None


class DatasetList(BaseModel):
    datasets: list[ListedDataset]
    left_out: int = Field(default=0, description="Too many to be listed.")


class DatasetDescription(BaseModel):
    status: DatasetStatus
    root: str | None = Field(description="The text of the index's root: what the whole dataset is about.")
    fresh: bool = Field(description="Whether there is an index, and nothing for `improve` to do.")
    advice: str = Field(description="What to do when it does not.")
    jobs: list[JobView] = Field(description="Work on it by this server, the newest first.")


class Remembered(BaseModel):
    dataset: str
    job: str = Field(default="", description="Of work that goes on: `describe_dataset` tells how far it is.")
    counts: dict[DocumentStatus, int] = {}
    skipped: dict[str, str] = Field(default={}, description="Sources that can't be read, with the reason.")
    chunks: int = Field(default=0, description="Read anew.")
    index: str = Field(default="", description="What became of the index; empty where it was not brought up to date.")
    reason: str = ""

    @classmethod
    def of(cls, result: RememberResult) -> "Remembered":
        outcomes, index = result.documents, result.index
        return cls(
            dataset=result.dataset,
            counts=Counter(one.status for one in outcomes),
            skipped={one.source: one.reason for one in outcomes if one.status is DocumentStatus.SKIPPED},
            chunks=result.chunks,
            index=index.status if index else "",
            reason=index.reason if index else "",
        )


class Improved(BaseModel):
    dataset: str
    job: str = Field(default="", description="Of work that goes on: `describe_dataset` tells how far it is.")
    index: str = Field(default="", description="What became of the index; empty where it was not asked for.")
    reason: str = ""
    generation: int = Field(default=0, description="Served now.")
    written: int = Field(default=0, description="Texts written anew.")
    degraded: int = Field(default=0, description="Texts by rules, where the model's could not be used.")
    model_calls: int = 0
    cost_usd: float | None = None
    warnings: list[str] = []

    @classmethod
    def of(cls, result: ImproveResult) -> "Improved":
        index = result.index or IndexResult(status=IndexStatus.SKIPPED)
        return cls(
            dataset=result.dataset,
            index=index.status if result.index else "",
            reason=index.reason,
            generation=index.generation,
            written=index.written,
            degraded=index.degraded,
            model_calls=result.model_calls,
            cost_usd=result.usage.cost_usd,
            warnings=list(result.warnings),
        )


class Recalled(BaseModel):
    text: str
    dataset: str
    dataset_id: UUID
    query_type: str
    route: str = Field(description="Why this type was chosen.")
    sources: list[str] = Field(description="Documents behind the answer.")
    generation: int = Field(description="Of the index that was read, 0 for none.")
    built_at: datetime | None
    pending: int = Field(description="Summaries that are new, changed or gone since.")
    notes: list[str]

    @classmethod
    def of(cls, result: RecallResult) -> "Recalled":
        return cls(
            text=result.text,
            dataset=result.dataset,
            dataset_id=result.dataset_id,
            query_type=str(result.query_type),
            route=result.route,
            sources=list(result.references),
            generation=result.generation,
            built_at=result.freshness.built_at,
            pending=result.freshness.pending,
            notes=list(result.evidence.notes),
        )

    def read(self) -> str:
        """As a text."""
        lines = [self.text]
        if self.sources:
            lines.append(f"Sources in {self.dataset!r}: {', '.join(self.sources)}")
        if self.generation and self.built_at:
            changed = f", {self.pending} summaries changed since" if self.pending else ""
            lines.append(f"Index: generation {self.generation} of {self.built_at:%Y-%m-%d %H:%M} UTC{changed}")
        lines += [f"Note: {note}" for note in self.notes]
        return "\n".join(lines)


class RecallAnswers(BaseModel):
    results: list[Recalled]

    def read(self) -> str:
        return "\n\n".join(one.read() for one in self.results) or "Nothing was found."


class Forgotten(BaseModel):
    dataset: str
    documents: int
    chunks: int
    stale: int = Field(description="Texts of the index that were cut, and wait for `improve`.")
    withheld: int = Field(description="Texts not shown until then.")
    proof: dict[str, Any] | None = Field(default=None, description="Where the documents' own words were looked for.")
