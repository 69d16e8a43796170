"""How a run ended, in the words of whoever looks at the list of runs."""

from collections import Counter
from dataclasses import dataclass

from overstory.results import (
    COMPLETED_WITH_ERRORS,
    DocumentStatus,
    ForgetResult,
    ImproveResult,
    IndexResult,
    IndexStatus,
    RememberResult,
)

Result = RememberResult | ImproveResult | IndexResult | ForgetResult


@dataclass(frozen=True, slots=True)
class Outcome:
    message: str
    failed: bool = False
    in_part: bool = False

    @property
    def name(self) -> str:
        """The name of the final state."""
        if self.failed:
            return "Failed"
        return COMPLETED_WITH_ERRORS if self.in_part else "Completed"


def outcome_of(result: Result) -> Outcome:
    """What became of a call that returned."""
    if isinstance(result, RememberResult):
        return _remembered(result)
    if isinstance(result, ForgetResult):
        return Outcome(f"{result.documents} documents, {result.chunks} chunks and {result.entities} entities forgotten")
    if isinstance(result, ImproveResult):
        return _improved(result)
    return _indexed(result)


def _remembered(result: RememberResult) -> Outcome:
    counts = Counter(d.status for d in result.documents)
    documents = ", ".join(f"{counts[s]} {s}" for s in DocumentStatus if counts[s]) or "none"
    degraded = f", {result.degraded} read by rules" if result.degraded else ""
    index = None if result.index is None else _indexed(result.index)
    in_part = bool(result.degraded or counts[DocumentStatus.SKIPPED])
    message = f"Documents: {documents}; {result.chunks} chunks read{degraded}"
    if index is None:
        return Outcome(message, in_part=in_part)
    return Outcome(f"{message}. {index.message}", in_part=in_part or index.in_part or index.failed)


def _improved(result: ImproveResult) -> Outcome:
    finished = f"{result.completed_chunks} chunks finished that an earlier run had left"
    if result.index is None:
        return Outcome("; ".join([finished, *result.warnings]), in_part=bool(result.warnings))
    index = _indexed(result.index)
    if not result.completed_chunks:
        return index
    return Outcome(f"{index.message}; {finished}", failed=index.failed, in_part=index.in_part)


def _indexed(index: IndexResult) -> Outcome:
    if index.status is IndexStatus.FAILED:
        return Outcome(f"The index was not built: {index.reason}", failed=True)
    if index.status is IndexStatus.STOPPED:
        return Outcome(f"The index is not finished: {index.reason}", in_part=True)
    if index.status is not IndexStatus.PUBLISHED:
        return Outcome(f"Index {index.status}, generation {index.generation}", in_part=bool(index.degraded))
    texts = f"{index.written} written, {index.reused} reused, {index.degraded} degraded"
    message = f"Generation {index.generation} published: {index.buckets} buckets and a root; {texts}"
    return Outcome(message, in_part=bool(index.degraded))
