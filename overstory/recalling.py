"""`recall` and what belongs to it: asking, streaming, the memory of a conversation."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, Unpack
from uuid import UUID

from overstory import access, ids, telemetry
from overstory.access import User
from overstory.arguments import several
from overstory.errors import DatasetNotFoundError, InvalidQueryError, NoDataError
from overstory.layout import retrieval
from overstory.models import FORGETTING, Dataset, Document, Manifest, Turn
from overstory.results import RecallResult, SearchType
from overstory.runtime import OpenDataset, Runtime, current_runtime
from overstory.settings import OFFLINE
from overstory.stores.contract import Store
from overstory.telemetry import Kind
from overstory.waves import together

if TYPE_CHECKING:
    from pydantic import BaseModel

Datasets = str | UUID | Sequence[str | UUID] | None
_MAX_QUESTIONS = 256


class RecallOptions(TypedDict, total=False):
    """How to ask; every option may be left out.

    top_k: connections, or passages, that the answer is built on (15; ten of each at most in HYBRID_COMPLETION).
    only_context: call no model, and return the whole prompt that would have been sent.
    wide_search_top_k: how many of each kind the first search looks at (100); None for all.
    node_name: only documents with one of these tags (all of them with `node_name_filter="AND"`).
    neighborhood_depth: also look so many steps around what was found.
    context_token_budget: about how long the context may be; local evidence keeps three quarters of it.
    system_prompt, system_prompt_path: instead of the default one.
    response_model: a pydantic model; `.value` of the result is an object of it.
    include_references: end the answer with the documents that it rests on.
    retriever_specific_config: `include_global_context_index` (False), `global_context_index_top_k` (3, in the plain
        form), `global_context_index_mode` (`plain`, and `adaptive` within a `context_token_budget`).
    generation: a kept generation of the index, instead of the served one.
    feedback_influence: 0 (none, the default) to 1: how much feedback counts beside distance.
    """

    top_k: int
    only_context: bool
    wide_search_top_k: int | None
    node_name: str | Sequence[str] | None
    node_name_filter: str
    neighborhood_depth: int | None
    context_token_budget: int | None
    system_prompt: str | None
    system_prompt_path: str | PathLike[str] | None
    response_model: "type[BaseModel] | None"
    include_references: bool
    retriever_specific_config: Mapping[str, object] | None
    generation: int | None
    feedback_influence: float


async def recall(
    query_text: str | Sequence[str],
    query_type: SearchType | str | None = None,
    *,
    datasets: Datasets = None,
    dataset_ids: UUID | Sequence[UUID] | None = None,
    session_id: str | None = None,
    auto_route: bool = True,
    user: User = None,
    **options: Unpack[RecallOptions],
) -> list[RecallResult]:
    """Ask a question, or several at once, of one or several datasets.

    Args:
        query_text: the question; of a list, all are embedded in one call.
        query_type: how to look for an answer; None chooses by the question, `.route` of the result says why.
        datasets: names or ids; None for all that the user may read.
        dataset_ids: the same by id; they win over `datasets`.
        session_id: a conversation, whose last turns are told to the model and to which this one is added.
        auto_route: False: GRAPH_COMPLETION where no type is named.
        options: see `RecallOptions`.

    Returns:
        One entry a question and dataset, in the order given; none where nothing was found.

    Raises:
        InvalidQueryError (ContextBudgetError where a budget has no room for anything that was found),
        DatasetNotFoundError, NoDataError, EmbeddingMismatchError, ModelError, StoreError
    """
    texts = _questions(query_text, session_id)
    _check_known(options)
    with telemetry.operation(Kind.RECALL, "recall", questions=len(texts)) as told:
        asking = await _Asking.begin(datasets, dataset_ids, session_id, user)
        told.note(datasets=len(asking.opened))
        questions = [asking.question(text, query_type, auto_route, options) for text in texts]
        found = await asking.search(questions)
        results: list[RecallResult] = await together(map(retrieval.asking.answer_from, found))
        if not options.get("only_context"):
            await asking.keep(results)
    return results


async def recall_stream(
    query_text: str,
    query_type: SearchType | str | None = None,
    *,
    datasets: Datasets = None,
    dataset_ids: UUID | Sequence[UUID] | None = None,
    session_id: str | None = None,
    auto_route: bool = True,
    user: User = None,
    **options: Unpack[RecallOptions],
) -> AsyncIterator[str | RecallResult]:
    """Ask one question, and get the answer as it is written: pieces of text, then the whole `RecallResult`.

    Arguments and errors are those of `recall`. Several datasets are searched at once and answer one after the other.
    """
    [text] = _questions([query_text], session_id)
    _check_known(options)
    with telemetry.operation(Kind.RECALL, "recall", surrounds=False, questions=1) as told:
        asking = await _Asking.begin(datasets, dataset_ids, session_id, user)
        told.note(datasets=len(asking.opened))
        results = []
        for one in await asking.search([asking.question(text, query_type, auto_route, options)]):
            async for piece in retrieval.asking.stream_from(one):
                if isinstance(piece, RecallResult):
                    results.append(piece)
                yield piece
        if not options.get("only_context"):
            await asking.keep(results)


async def forget_session(session_id: str, *, user: User = None) -> bool:
    """Erase a conversation; whether there was one."""
    store = (await current_runtime()).store
    return await store.erase_session(access.user_id(user), _session(session_id))


def _questions(query_text: str | Sequence[str], session_id: str | None) -> list[str]:
    texts = [query_text] if isinstance(query_text, str) or not isinstance(query_text, Sequence) else list(query_text)
    if not 0 < len(texts) <= _MAX_QUESTIONS:
        raise InvalidQueryError(f"query_text holds {len(texts)} questions: 1 to {_MAX_QUESTIONS} may be asked at once.")
    if session_id is not None and len(texts) > 1:
        raise InvalidQueryError("A conversation has one question at a time: leave session_id out, or ask one by one.")
    return texts


def _check_known(options: RecallOptions) -> None:
    known = RecallOptions.__annotations__
    unknown = sorted(options.keys() - known.keys())
    if unknown:
        raise InvalidQueryError(f"recall has no option {', '.join(unknown)}; it has {', '.join(known)}.")


def _session(session_id: object) -> str:
    if not isinstance(session_id, str) or not session_id.strip():
        raise InvalidQueryError(f"session_id={session_id!r} must be a name of at least one character.")
    return session_id


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """Who asks what, and from where."""

    runtime: Runtime
    user_id: UUID
    opened: Sequence[tuple[OpenDataset, Manifest]]
    named: bool
    """The caller named the datasets, so that one which is gone is an error."""
    session_id: str | None
    history: tuple[Turn, ...]

    @classmethod
    async def begin(
        cls, datasets: Datasets, dataset_ids: UUID | Sequence[UUID] | None, session_id: str | None, user: User
    ) -> "_Asking":
        runtime, user_id = await current_runtime(), access.user_id(user)
        history: tuple[Turn, ...] = ()
        if session_id is not None:
            history = await runtime.store.read_session(user_id, _session(session_id))
        names = datasets if dataset_ids is None else dataset_ids
        opened = await _readable(runtime, names, user)
        named = names is not None
        return cls(runtime=runtime, user_id=user_id, opened=opened, named=named, session_id=session_id, history=history)

    def question(self, text: str, query_type: Any, auto_route: bool, options: RecallOptions) -> Any:
        has_model = self.runtime.writer.model != OFFLINE
        return retrieval.question.make_question(
            text, query_type, history=self.history, auto_route=auto_route, has_model=has_model, **options
        )

    async def search(self, questions: Sequence[Any]) -> list[Any]:
        """What is found for each question in each dataset, all at once."""
        vectors = retrieval.scene.query_vectors(self.runtime.embedder, [q.search_text for q in questions])
        found = await together(
            _search_or_empty(
                question,
                named=self.named,
                dataset=one.dataset,
                tenant=one.tenant,
                manifest=manifest,
                embedder=self.runtime.embedder,
                writer=self.runtime.writer,
                vector=vector,
            )
            for question, vector in zip(questions, vectors, strict=True)
            for one, manifest in self.opened
        )
        empty = [one for one in found if isinstance(one, NoDataError)]
        if empty and len(empty) == len(found):
            raise empty[0]
        return [one for one in found if one is not None and one not in empty]

    async def keep(self, results: Sequence[RecallResult]) -> None:
        """Add the answers to the conversation, if this is one."""
        if self.session_id is None or not results:
            return
        turn = Turn(
            question=results[0].query,
            answer="\n".join(result.text for result in results),
            dataset_ids=tuple(result.dataset_id for result in results),
        )
        store = self.runtime.store
        await store.add_turn(self.user_id, self.session_id, turn)
        # What was forgotten while this was answered erased the turns before this one was kept.
        for result in results:
            if not await _still_stands(store, result):
                await store.erase_turns(result.dataset_id)


async def _still_stands(store: Store, result: RecallResult) -> bool:
    """Whether all that an answer rests on is still there."""
    dataset = await store.get_dataset(result.dataset_id)
    if dataset is None:
        return False
    areas = [area for area in (result.evidence.root, *result.evidence.areas) if area]
    told = {ids.document_id(dataset.id, source) for area in areas for source in area.sources}
    local = (*result.evidence.passages, *result.evidence.descriptions)
    needed = list(told.union(passage.document_id for passage in local))
    found = await (await store.tenant(dataset)).get(Document, needed)
    return len(found) == len(needed) and all(document.state != FORGETTING for document in found)


async def _search_or_empty(question: Any, *, named: bool, dataset: Dataset, **where: Any) -> Any:
    """What `search` finds; the error of a dataset that holds nothing, which among others is no failure.

    One that was dropped since it was opened holds nothing either, unless it was asked for by its name.
    """
    try:
        return await retrieval.asking.search(question, dataset=dataset, **where)
    except NoDataError as nothing:
        return nothing
    except DatasetNotFoundError:
        if named:
            raise DatasetNotFoundError(dataset.name) from None
        return NoDataError(dataset.name)


async def _readable(runtime: Runtime, names: Datasets, user: User) -> list[tuple[OpenDataset, Manifest]]:
    if names is None:
        listed = await runtime.store.list_datasets(access.user_id(user))
        opened = await access.of_each(listed, lambda dataset_id: access.find_index(runtime, dataset_id, user))
        if not opened:
            raise NoDataError("main_dataset")
        return opened
    refusal = InvalidQueryError(f"datasets={names!r} must be a name or an id, or a list of these.")
    wanted = dict.fromkeys(several(names, str | UUID, refusal))
    if not wanted:
        raise InvalidQueryError("datasets names none: give at least one, or leave it out for all.")
    return list(await asyncio.gather(*[access.find_index(runtime, name, user) for name in wanted]))
