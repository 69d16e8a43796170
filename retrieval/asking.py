"""The entry: one question to one dataset."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from overstory import telemetry
from overstory.errors import ContextBudgetError, NoDataError
from overstory.indexing.hiding import hide_forgetting
from overstory.models import Dataset, DocumentChunk, Manifest
from overstory.results import Freshness, RecallResult, SearchType
from overstory.settings import OFFLINE
from overstory.stores.contract import Tenant
from overstory.telemetry import Kind, step
from overstory.waves import wave
from overstory.writer import Embedder, Writer

from .completion import answer_as_object, quote_findings, user_prompt
from .condensed import graph_summary_completion, triplet_completion
from .context import clean_name
from .evidence import freshness_of
from .graph import graph_completion
from .hybrid import hybrid_completion
from .passages import chunks, lexical_chunks, rag_completion, summaries
from .question import Question
from .rounds import chain_of_thought, context_extension, decomposition
from .scene import Findings, QueryVector, Scene, Strategy
from .temporal import temporal

STRATEGIES: Final[Mapping[SearchType, Strategy]] = {
    SearchType.GRAPH_COMPLETION: graph_completion,
    SearchType.HYBRID_COMPLETION: hybrid_completion,
    SearchType.GRAPH_COMPLETION_COT: chain_of_thought,
    SearchType.GRAPH_COMPLETION_DECOMPOSITION: decomposition,
    SearchType.GRAPH_COMPLETION_CONTEXT_EXTENSION: context_extension,
    SearchType.GRAPH_SUMMARY_COMPLETION: graph_summary_completion,
    SearchType.TRIPLET_COMPLETION: triplet_completion,
    SearchType.TEMPORAL: temporal,
    SearchType.RAG_COMPLETION: rag_completion,
    SearchType.CHUNKS: chunks,
    SearchType.CHUNKS_LEXICAL: lexical_chunks,
    SearchType.SUMMARIES: summaries,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found for a question in one dataset, before it is answered."""

    scene: Scene
    findings: Findings
    freshness: Freshness

    @property
    def answered(self) -> bool:
        """A model answers; else what was found is the result."""
        return self.findings.answered and not self.scene.question.only_context

    @property
    def quoted(self) -> bool:
        """It is answered in words of the documents, for want of a model."""
        return self.answered and self.scene.writer.model == OFFLINE

    def result(self, text: str, value: Any = None, quoted: tuple[str, ...] = ()) -> RecallResult:
        question = self.scene.question
        result = RecallResult(
            text=text,
            dataset=self.scene.dataset.name,
            dataset_id=self.scene.dataset.id,
            query=question.query_text,
            query_type=question.query_type,
            route=question.route,
            evidence=self.findings.evidence,
            freshness=self.freshness,
            usage=self.scene.usage,
            value=value,
            quoted=quoted,
        )
        if question.include_references and not question.only_context:
            return replace(result, text=f"{text}{references_of(result)}")
        return result


async def search(
    question: Question,
    *,
    dataset: Dataset,
    tenant: Tenant,
    manifest: Manifest,
    embedder: Embedder,
    writer: Writer,
    vector: QueryVector | None = None,
) -> Found | None:
    """Look for what answers a question in one dataset.

    Args:
        question: from `make_question`.
        dataset: the one to ask.
        tenant: its rows.
        manifest: its manifest, as current as the caller wants the index to be.
        embedder: the one that its vectors are of.
        writer: who answers.
        vector: of the question's `search_text`, to share between datasets; embedded here when it is not given.

    Returns:
        What was found; None when the dataset holds nothing that has to do with the question, in which case no
        model was called.

    Raises:
        GenerationNotFoundError: the generation that was asked for is not kept.
        ContextBudgetError: the budget has no room for anything that was found; no model was called.
        NoDataError: the dataset holds no chunk; no model was called.
        StoreError, ModelError: what was needed did not work, by its kind.
    """
    generation = manifest.generation(question.generation)
    tenant = hide_forgetting(tenant)
    scene = Scene(
        question=question,
        dataset=dataset,
        tenant=tenant,
        generation=generation,
        vector=vector or QueryVector(embedder, question.search_text),
        writer=writer,
    )
    with telemetry.operation(
        Kind.RECALL, "search", dataset_id=str(dataset.id), search_type=str(question.query_type)
    ) as told:
        async with wave() as group:
            found = group.create_task(STRATEGIES[question.query_type](scene))
            freshness = group.create_task(freshness_of(tenant, manifest, generation))
        findings = _within_budget(found.result(), scene)
        if not findings.evidence.passages and not await tenant.count(DocumentChunk):
            raise NoDataError(dataset.name)
        told.note(context_tokens=findings.evidence.context_tokens, prelude_tokens=findings.evidence.prelude_tokens)
    return Found(scene=scene, findings=findings, freshness=freshness.result()) if findings.context else None


def _within_budget(findings: Findings, scene: Scene) -> Findings:
    """What was found, with a note where the budget has no room for any local evidence.

    Raises:
        ContextBudgetError: it has no room for anything.
    """
    least, budget = findings.least_tokens, scene.question.context_token_budget
    if not least or budget is None:
        return findings
    if not findings.context:
        raise ContextBudgetError(scene.dataset.name, budget, least)
    note = f"local evidence left out: the budget has no room for it, give at least {least}"
    notes = (*findings.evidence.notes, note)
    return replace(findings, evidence=replace(findings.evidence, notes=notes))


@step(Kind.RECALL, "answer")
async def answer_from(found: Found) -> RecallResult:
    """The answer, or what stands for it where no model answers.

    Raises:
        ModelOutputError: a response model was asked for, and no reply was of its form.
        ModelError: by its kind.
    """
    question, context = found.scene.question, found.findings.context
    if not found.answered:
        return found.result(_unanswered(found))
    if found.quoted:
        quotation = await asyncio.to_thread(quote_findings, question, found.findings)
        return found.result(quotation.text, quoted=quotation.sources)
    if question.response_model:
        return found.result(*await answer_as_object(question, context, found.scene.writer, found.scene.usage))
    return found.result(await found.scene.ask(user_prompt(question, context), question.system_prompt))


async def stream_from(found: Found) -> AsyncIterator[str | RecallResult]:
    """The pieces of the answer as they come, then the whole result."""
    question = found.scene.question
    if not found.answered or found.quoted or question.response_model:
        whole = await answer_from(found)
        yield whole.text
        yield whole
        return
    pieces: list[str] = []
    with telemetry.operation(Kind.RECALL, "answer", surrounds=False):
        prompt, writer = user_prompt(question, found.findings.context), found.scene.writer
        async for piece in writer.answer(prompt, system_prompt=question.system_prompt, usage=found.scene.usage):
            pieces.append(piece)
            yield piece
    whole = found.result("".join(pieces).strip())
    if question.include_references:
        yield references_of(whole)
    yield whole


def references_of(result: RecallResult) -> str:
    """The documents behind an answer, to put after it."""
    lines = [f"- {clean_name(source)}" for source in result.references]
    return "\n\nReferences:\n" + "\n".join(lines) if lines else ""


def _unanswered(found: Found) -> str:
    question, context = found.scene.question, found.findings.context
    return user_prompt(question, context) if found.findings.answered else context
