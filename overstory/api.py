"""The public calls. All are coroutines; each reads the settings from the environment."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from uuid import UUID

from overstory import access
from overstory.access import User
from overstory.arguments import checked, several
from overstory.errors import ConfigurationError, DatasetNotFoundError, DocumentNotFoundError, InvalidOptionError
from overstory.indexing import listing, locations, previewing, proving, reading, sources
from overstory.indexing.budgets import Budget
from overstory.indexing.cleaning import clean_name
from overstory.indexing.sources import SkippedSource, SourceInput
from overstory.indexing.tree.bucketing import TreeOptions
from overstory.layout import flows, tasks
from overstory.models import Dataset, Document, Permission, Usage
from overstory.results import (
    DocumentOutcome,
    DocumentStatus,
    ForgetResult,
    ImproveResult,
    IndexResult,
    IndexStatus,
    RememberResult,
)
from overstory.runtime import OpenDataset, Runtime, current_runtime

logger = logging.getLogger(__name__)

_NO_BACKGROUND = (
    "the index was skipped: nothing here can run enrichment and index in order in the background; "
    "set PREFECT_API_URL, or run it in the foreground"
)


@checked("data", "node_set")
async def remember(
    data: SourceInput,
    dataset_name: str = "main_dataset",
    *,
    node_set: str | Sequence[str] | None = None,
    self_improvement: bool = True,
    run_in_background: bool = False,
    user: User = None,
    wait_seconds: float = 0,
) -> RememberResult:
    """Take texts, files, folders or URLs into a dataset; it is made when there is none of the name.

    The same source with another content is an update, the same content again is no work. What can't be read is
    reported as skipped, and the rest goes on. Where nothing at all can be read, no dataset is made.

    Args:
        data: a text, a path, a URL, a `SourceDocument`, or a list of these.
        node_set: tags for the documents; recall can be limited to them.
        self_improvement: also bring the index up to date, where the dataset has one.
        run_in_background: read here, but let the Prefect server refresh the index; see `improve`.
        wait_seconds: how long to wait for another writer of the dataset.

    Raises:
        DatasetBusyError: another writer holds the dataset.
        EmbeddingMismatchError: the dataset was stored with another embedding model.
        ModelError: the model does not answer; what was read until then is stored, and the next call goes on.
    """
    runtime = await current_runtime()
    tags, fetched = sources.tags(node_set or ()), reading.NOTHING_FETCHED
    if not await access.find_own(runtime, dataset_name, user):
        would_be, seen = await access.new_dataset(runtime, dataset_name, user), await reading.glance(data)
        if not seen.readable:
            return _nothing_read(runtime, would_be, seen.skipped)
        fetched = seen.fetched
    opened = await access.find_or_create_dataset(runtime, dataset_name, user)
    result: RememberResult = await flows.remember.remember(
        opened.dataset.id, data, node_set=tags, fetched=fetched, wait_seconds=wait_seconds
    )
    if not self_improvement or not (await opened.manifest()).serving:
        return result
    improved = await improve(
        opened.dataset.id,
        build_global_context_index=True,
        run_in_background=run_in_background,
        user=user,
        wait_seconds=wait_seconds,
    )
    return _with_improvement(result, improved)


def _with_improvement(result: RememberResult, improved: ImproveResult) -> RememberResult:
    """What both took together; every warning of `improved` is the reason of its index."""
    usage = Usage()
    for part in (result.usage, improved.usage):
        usage += part
    return replace(
        result,
        index=improved.index,
        chunks=result.chunks + improved.completed_chunks,
        model_calls=result.model_calls + improved.model_calls,
        usage=usage,
    )


def _nothing_read(runtime: Runtime, would_be: Dataset, skipped: Sequence[SkippedSource]) -> RememberResult:
    return RememberResult(
        dataset=would_be.name,
        dataset_id=would_be.id,
        documents=tuple(
            DocumentOutcome(source=one.source, document_id=None, status=DocumentStatus.SKIPPED, reason=one.reason)
            for one in skipped
        ),
        chunks=0,
        model_calls=0,
        writer=runtime.writer.model,
        embedder=runtime.embedder.model,
    )


@checked()
async def improve(
    dataset: str | UUID = "main_dataset",
    *,
    build_global_context_index: bool = False,
    run_in_background: bool = False,
    user: User = None,
    wait_seconds: float = 0,
    max_calls: int | None = None,
    max_cost_usd: float | None = None,
    preview: bool = False,
) -> ImproveResult:
    """Finish what is incomplete in a dataset, and build or refresh its index.

    Args:
        build_global_context_index: also bring the tree of summaries up to date; a first one has graph buckets of 4.
        run_in_background: let the deployment `improve` of the Prefect server do all of it, in order, and return at
            once with `.index.run_id` and `.index.run_url`; without a server the index is skipped with a warning.
        max_calls: stop at so many texts asked of the model; the next run goes on from there.
        max_cost_usd: stop before the calls cost more; refused when no price is known for the model.
        preview: only say what the index would take, in `.preview`; nothing is done or paid.

    Returns:
        `.index` is None when it was not asked for. When its build failed, the reason is in `.warnings`, and the
        last published index goes on being served.

    Raises:
        DatasetNotFoundError, PermissionDeniedError, DatasetBusyError, EmbeddingMismatchError
    """
    runtime = await current_runtime()
    opened = await access.find_dataset(runtime, dataset, user, Permission.WRITE)
    budget = await _budget(runtime, max_calls, max_cost_usd)
    if preview:
        found = await previewing.preview(opened)
        return ImproveResult(dataset=opened.dataset.name, index=None, preview=found)
    if run_in_background and runtime.settings.orchestration.wanted:
        started = await _start(
            "improve",
            opened,
            user,
            build_global_context_index=build_global_context_index,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
            wait_seconds=wait_seconds,
        )
        return ImproveResult(dataset=opened.dataset.name, index=started)
    skipped = build_global_context_index and run_in_background
    result: ImproveResult = await flows.improve.improve(
        opened.dataset.id,
        build_global_context_index=build_global_context_index and not skipped,
        wait_seconds=wait_seconds,
        budget=budget,
    )
    return _with_skipped_index(result) if skipped else result


@checked()
async def global_context_index_pipeline(
    user: User = None,
    dataset: str | UUID = "main_dataset",
    *,
    rebuild: bool = False,
    reuse_unchanged: bool = False,
    bucketing_strategy: str = "vector",
    max_bucket_size: int = 20,
    placement_distance_threshold: float = 0.5,
    min_overlap: float = 0.05,
    run_in_background: bool = False,
    wait_seconds: float = 0,
    max_calls: int | None = None,
    max_cost_usd: float | None = None,
) -> IndexResult:
    """Build, refresh or rebuild the index of a dataset with chosen options.

    Args:
        rebuild: write every bucket and the root from scratch, while the old index is served.
        reuse_unchanged: with `rebuild`: keep texts whose inputs, prompt and model are the same.
        bucketing_strategy: `vector` or `graph`.
        max_bucket_size: children of a bucket, at least 2.
        placement_distance_threshold: cosine distance up to which a summary joins a bucket.
        min_overlap: share of weighted entities, 0 to 1, from which a summary joins a bucket.

    Raises:
        InvalidOptionError: an option is outside what is allowed; checked before anything is read.
        IndexMismatchError: the index was built with another strategy or size; `rebuild=True` is the way out.
        ModelError: the model does not answer; the last published index goes on being served.
    """
    options = TreeOptions(bucketing_strategy, max_bucket_size, placement_distance_threshold, min_overlap)  # type: ignore[arg-type]  # checked next
    options.check()
    runtime = await current_runtime()
    opened = await access.find_dataset(runtime, dataset, user, Permission.WRITE)
    budget = await _budget(runtime, max_calls, max_cost_usd)
    if run_in_background and runtime.settings.orchestration.wanted:
        chosen = {"reuse_unchanged": reuse_unchanged} if rebuild else {}
        return await _start(
            "rebuild" if rebuild else "global_context_index_pipeline",
            opened,
            user,
            **asdict(options),
            **chosen,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
            wait_seconds=wait_seconds,
        )
    if run_in_background:
        return _skipped_index()
    result: IndexResult = await flows.index.global_context_index_pipeline(
        opened.dataset.id,
        options=options,
        rebuild=rebuild,
        reuse_unchanged=reuse_unchanged,
        wait_seconds=wait_seconds,
        budget=budget,
    )
    return result


@checked()
async def rebuild(
    dataset: str | UUID = "main_dataset",
    *,
    bucketing_strategy: str | None = None,
    max_bucket_size: int | None = None,
    placement_distance_threshold: float | None = None,
    min_overlap: float | None = None,
    reuse_unchanged: bool = False,
    run_in_background: bool = False,
    user: User = None,
    wait_seconds: float = 0,
    max_calls: int | None = None,
    max_cost_usd: float | None = None,
) -> IndexResult:
    """Write the whole index of a dataset anew, while the old one is served.

    Options that are None stay as the served index has them; where there is none, as `improve` takes them. What they
    mean, and what is raised, is said at `global_context_index_pipeline`.

    Args:
        reuse_unchanged: keep texts whose inputs, prompt and model are the same.
    """
    given = {
        "bucketing_strategy": bucketing_strategy,
        "max_bucket_size": max_bucket_size,
        "placement_distance_threshold": placement_distance_threshold,
        "min_overlap": min_overlap,
    }
    opened = await access.find_dataset(await current_runtime(), dataset, user, Permission.WRITE)
    served = asdict(TreeOptions.of((await opened.manifest()).current))
    return await global_context_index_pipeline(
        user,
        opened.dataset.id,
        rebuild=True,
        reuse_unchanged=reuse_unchanged,
        **{**served, **{name: value for name, value in given.items() if value is not None}},
        run_in_background=run_in_background,
        wait_seconds=wait_seconds,
        max_calls=max_calls,
        max_cost_usd=max_cost_usd,
    )


@checked("document")
async def forget(
    dataset: str | UUID,
    *,
    document: str | UUID | Sequence[str | UUID] | None = None,
    user: User = None,
    wait_seconds: float = 0,
    prove: bool = False,
) -> ForgetResult:
    """Forget documents, or a whole dataset, with everything that nothing else supports. It takes effect at once.

    Args:
        document: source key or id, or a list of them; None for the dataset.
        prove: afterwards look for the documents' own words in every row, generation and file; see `.proof`. Not for
            a whole dataset, of which nothing is left to look at.

    Raises:
        InvalidOptionError: `prove` without a document, or one that is no source and no id; nothing was forgotten.
        DatasetNotFoundError, DocumentNotFoundError, PermissionDeniedError, DatasetBusyError
    """
    if prove and document is None:
        raise InvalidOptionError("prove", prove, "name the documents; of a whole dataset nothing is left to look at")
    runtime = await current_runtime()
    try:
        opened = await access.find_dataset(runtime, dataset, user, Permission.DELETE, any_embedder=document is None)
    except DatasetNotFoundError:
        if document is None and await runtime.store.finish_drop(access.user_id(user), str(dataset)):
            return ForgetResult(dataset=str(dataset), documents=0, chunks=0, entities=0, edges=0)
        raise
    documents = None if document is None else await _document_ids(opened, document)
    words = await proving.own_words(opened.tenant, documents) if prove and documents else []
    result: ForgetResult = await flows.forget.forget(opened.dataset.id, documents, wait_seconds=wait_seconds)
    if not prove:
        return result
    manifest = await opened.manifest()
    return replace(result, proof=await proving.prove(opened.tenant, manifest, words))


async def _document_ids(opened: OpenDataset, document: str | UUID | Sequence[str | UUID]) -> list[UUID]:
    found = []
    refusal = InvalidOptionError("document", document, "a source or an id, or a list of these")
    for one in several(document, str | UUID, refusal):
        name = clean_name(str(one))
        keys = await opened.tenant.find(Document, "source", [name], limit=1)
        keys = keys or await opened.tenant.find(Document, "source", [locations.source_key(name)], limit=1)
        keys = keys or [d.id for d in await opened.tenant.get(Document, [k for k in [_as_id(one)] if k])]
        if not keys:
            nearest = await listing.nearest_source(opened.tenant, name)
            raise DocumentNotFoundError(str(one), opened.dataset.name, nearest)
        found += keys
    return list(dict.fromkeys(found))


def _as_id(value: str | UUID) -> UUID | None:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except ValueError:
        return None


async def _budget(runtime: Runtime, max_calls: int | None, max_cost_usd: float | None) -> Budget:
    if max_calls is not None and max_calls < 0:
        raise InvalidOptionError("max_calls", max_calls, "use a whole number of at least 0")
    if max_cost_usd is not None and not max_cost_usd >= 0:
        raise InvalidOptionError("max_cost_usd", max_cost_usd, "use a number of at least 0")
    return Budget(
        max_calls=max_calls,
        max_cost_usd=max_cost_usd,
        expected_usd=0.0 if max_cost_usd is None else await _text_ceiling_usd(runtime),
        calls_a_text=runtime.writer.calls_a_chunk,
    )


async def _text_ceiling_usd(runtime: Runtime) -> float:
    """
    Raises:
        ConfigurationError: a price is not known.
    """
    at_most = await asyncio.to_thread(runtime.writer.text_ceiling_usd)
    if at_most is None:
        raise ConfigurationError(
            f"No price is known for {' or '.join(runtime.settings.models.chunk_models)}: set LLM_INPUT_USD_PER_MILLION "
            "and LLM_OUTPUT_USD_PER_MILLION, which are those of LLM_MODEL, or use max_calls."
        )
    return runtime.settings.index.write_attempts * at_most


async def _start(flow: str, opened: OpenDataset, user: User, **parameters: object) -> IndexResult:
    """Let the deployment of a flow do the work."""
    dataset = opened.dataset
    own = dataset.owner_id == access.user_id(user)
    given = {"dataset": dataset.name if own else str(dataset.id), "user": str(user or ""), **parameters}
    started = await tasks.background.start(flow, given)
    return IndexResult(status=IndexStatus.STARTED, run_id=started.run_id, run_url=started.run_url)


def _skipped_index() -> IndexResult:
    logger.warning("run_in_background: %s.", _NO_BACKGROUND)
    return IndexResult(status=IndexStatus.SKIPPED, reason=_NO_BACKGROUND)


def _with_skipped_index(result: ImproveResult) -> ImproveResult:
    return replace(result, index=_skipped_index(), warnings=(*result.warnings, _NO_BACKGROUND))


__all__ = ["forget", "global_context_index_pipeline", "improve", "rebuild", "remember"]
