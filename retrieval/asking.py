"""The entry: one question to one dataset."""

from collections.abc import Mapping
from typing import Final

from overstory.errors import GenerationNotFoundError, NoDataError
from overstory.models import Dataset, DocumentChunk, Generation, Manifest
from overstory.results import RecallResult, SearchType
from overstory.stores.contract import Tenant
from overstory.writer import Embedder, Writer

from .completion import answer, user_prompt
from .evidence import freshness_of
from .graph import graph_completion
from .hiding import hide_forgetting
from .hybrid import hybrid_completion
from .passages import chunks, lexical_chunks, rag_completion, summaries
from .question import Question
from .scene import Findings, QueryVector, Scene, Strategy
from .waves import wave

STRATEGIES: Final[Mapping[SearchType, Strategy]] = {
    SearchType.GRAPH_COMPLETION: graph_completion,
    SearchType.HYBRID_COMPLETION: hybrid_completion,
    SearchType.RAG_COMPLETION: rag_completion,
    SearchType.CHUNKS: chunks,
    SearchType.CHUNKS_LEXICAL: lexical_chunks,
    SearchType.SUMMARIES: summaries,
}


async def ask(
    question: Question,
    *,
    dataset: Dataset,
    tenant: Tenant,
    manifest: Manifest,
    embedder: Embedder,
    writer: Writer,
    vector: QueryVector | None = None,
) -> RecallResult | None:
    """Ask one dataset.

    Args:
        question: from `make_question`.
        dataset: the one to ask.
        tenant: its rows.
        manifest: its manifest, as current as the caller wants the index to be.
        embedder: the one that its vectors are of.
        writer: who answers.
        vector: of the question, to share between datasets; embedded here when it is not given.

    Returns:
        The answer with its evidence; None when the dataset holds nothing that has to do with the question, in
        which case no model was called.

    Raises:
        GenerationNotFoundError: the generation that was asked for is not kept.
        NoDataError: the dataset holds no chunk; no model was called.
        StoreError, ModelError: what was needed did not work, by its kind.
    """
    generation = generation_of(manifest, question.generation)
    tenant = hide_forgetting(tenant)
    scene = Scene(
        question=question,
        dataset=dataset,
        tenant=tenant,
        generation=generation,
        vector=vector or QueryVector(embedder, question.query_text),
        writer=writer,
    )
    async with wave() as group:
        group.create_task(_require_data(scene))
        search = group.create_task(STRATEGIES[question.query_type](scene))
        freshness = group.create_task(freshness_of(tenant, generation))
    findings = search.result()
    if not findings.context:
        return None
    return RecallResult(
        text=await _text(scene, findings),
        dataset=dataset.name,
        dataset_id=dataset.id,
        query=question.query_text,
        query_type=question.query_type,
        evidence=findings.evidence,
        freshness=freshness.result(),
        usage=scene.usage,
    )


def generation_of(manifest: Manifest, number: int | None) -> Generation | None:
    """The generation to read: the served one, or the kept one of this number."""
    if number is None:
        return manifest.current
    kept = {generation.number: generation for generation in manifest.generations}
    if number not in kept:
        raise GenerationNotFoundError(number, sorted(kept))
    return kept[number]


async def _require_data(scene: Scene) -> None:
    if not await scene.tenant.count(DocumentChunk):
        raise NoDataError(scene.dataset.name)


async def _text(scene: Scene, findings: Findings) -> str:
    question = scene.question
    if not findings.answered:
        return findings.context
    if question.only_context:
        return user_prompt(question.query_text, findings.context)
    return await answer(question, findings.context, scene.writer, scene.usage)
