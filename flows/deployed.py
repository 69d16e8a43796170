"""The flows that people start from the Prefect UI, on a schedule or by hand: `prefect.yaml` names them.

Their parameters are the form that people fill in: plain, typed, each with a default where one makes sense. Each runs
the public call of its name, as tasks of its own run.
"""

from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

from prefect import State, flow
from pydantic import Field

from overstory import access, api
from overstory.errors import InvalidOptionError
from overstory.indexing.remote import is_url
from overstory.layout import tasks

DatasetName = Annotated[str, Field(min_length=1, max_length=access.MAX_NAME_CHARACTERS)]
Calls = Annotated[int, Field(ge=0)]
Dollars = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
BucketSize = Annotated[int, Field(ge=2, le=1_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Distance = Annotated[float, Field(ge=0, le=2)]
Strategy = Literal["vector", "graph"]
AS_SERVED = "as served"


@flow(name="remember", flow_run_name="remember-{dataset}", persist_result=False)
async def remember(
    source: Annotated[str, Field(min_length=1, max_length=4_096)],
    dataset: DatasetName = "main_dataset",
    node_set: list[str] = [],  # noqa: B006 - the form shows an empty list; it is never changed
    self_improvement: bool = True,
    wait_seconds: Seconds = 0,
    user: str = "",
) -> State[Any]:
    """Take a file, a folder or a URL into a dataset.

    Args:
        source: A file or folder as the worker sees it, or any URL that fsspec knows (https://…, s3://…).
        dataset: Where it goes; made when there is none of the name.
        node_set: Tags for the documents; questions can be limited to them.
        self_improvement: Also bring the index up to date, where the dataset has one.
        wait_seconds: How long to wait while another run writes this dataset; 0 fails at once.
        user: Name or id of the user who owns the dataset; empty for the default user.
    """
    place = source if is_url(source) else Path(source)

    async def work() -> Any:
        if isinstance(place, Path) and not place.expanduser().exists():
            raise InvalidOptionError("source", source, "a file or folder that the worker can see, or a URL")
        return await api.remember(
            place,
            dataset,
            node_set=node_set,
            self_improvement=self_improvement,
            wait_seconds=wait_seconds,
            user=given_user(user),
        )

    return await tasks.policies.observed(dataset, work)


@flow(name="improve", flow_run_name="improve-{dataset}", persist_result=False)
async def improve(
    dataset: DatasetName = "main_dataset",
    build_global_context_index: bool = True,
    max_calls: Calls | None = None,
    max_cost_usd: Dollars | None = None,
    wait_seconds: Seconds = 0,
    user: str = "",
) -> State[Any]:
    """Finish what is incomplete in a dataset, then bring its index up to date.

    Args:
        dataset: Its name or id.
        build_global_context_index: Build or refresh the index, too.
        max_calls: Stop after so many calls of the model; the next run goes on from there.
        max_cost_usd: Stop before the calls cost more.
        wait_seconds: How long to wait while another run writes this dataset; 0 fails at once.
        user: Name or id of the user who owns the dataset; empty for the default user.
    """
    return await tasks.policies.observed(
        dataset,
        lambda: api.improve(
            dataset,
            build_global_context_index=build_global_context_index,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
            wait_seconds=wait_seconds,
            user=given_user(user),
        ),
    )


@flow(name="global_context_index_pipeline", flow_run_name="index-{dataset}", persist_result=False)
async def global_context_index_pipeline(
    dataset: DatasetName = "main_dataset",
    bucketing_strategy: Strategy = "vector",
    max_bucket_size: BucketSize = 20,
    placement_distance_threshold: Distance = 0.5,
    min_overlap: Share = 0.05,
    max_calls: Calls | None = None,
    max_cost_usd: Dollars | None = None,
    wait_seconds: Seconds = 0,
    user: str = "",
) -> State[Any]:
    """Build or refresh the index of a dataset with chosen options.

    Args:
        dataset: Its name or id.
        bucketing_strategy: What belongs together: near in meaning (vector), or sharing entities (graph).
        max_bucket_size: How many texts one bucket sums up, at most.
        placement_distance_threshold: Cosine distance up to which a new summary joins a bucket.
        min_overlap: Share of common entities from which a new summary joins a bucket.
        max_calls: Stop after so many calls of the model; the next run goes on from there.
        max_cost_usd: Stop before the calls cost more.
        wait_seconds: How long to wait while another run writes this dataset; 0 fails at once.
        user: Name or id of the user who owns the dataset; empty for the default user.
    """
    return await tasks.policies.observed(
        dataset,
        lambda: api.global_context_index_pipeline(
            given_user(user),
            dataset,
            bucketing_strategy=bucketing_strategy,
            max_bucket_size=max_bucket_size,
            placement_distance_threshold=placement_distance_threshold,
            min_overlap=min_overlap,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
            wait_seconds=wait_seconds,
        ),
    )


@flow(name="rebuild", flow_run_name="rebuild-{dataset}", persist_result=False)
async def rebuild(
    dataset: DatasetName = "main_dataset",
    bucketing_strategy: Literal["as served", "vector", "graph"] = "as served",
    max_bucket_size: BucketSize | None = None,
    placement_distance_threshold: Distance | None = None,
    min_overlap: Share | None = None,
    reuse_unchanged: bool = False,
    max_calls: Calls | None = None,
    max_cost_usd: Dollars | None = None,
    wait_seconds: Seconds = 0,
    user: str = "",
) -> State[Any]:
    """Write the whole index of a dataset anew, while the old one is served.

    Args:
        dataset: Its name or id.
        bucketing_strategy: As the index has it now, or another one: near in meaning (vector), sharing entities (graph).
        max_bucket_size: How many texts one bucket sums up, at most; none keeps what the index has.
        placement_distance_threshold: Cosine distance up to which a new summary joins a bucket; none keeps what is set.
        min_overlap: Share of common entities from which a new summary joins a bucket; none keeps what is set.
        reuse_unchanged: Keep texts whose inputs, prompt and model are the same; off pays for every text again.
        max_calls: Stop after so many calls of the model; the next run goes on from there.
        max_cost_usd: Stop before the calls cost more.
        wait_seconds: How long to wait while another run writes this dataset; 0 fails at once.
        user: Name or id of the user who owns the dataset; empty for the default user.
    """
    return await tasks.policies.observed(
        dataset,
        lambda: api.rebuild(
            dataset,
            bucketing_strategy=None if bucketing_strategy == AS_SERVED else bucketing_strategy,
            max_bucket_size=max_bucket_size,
            placement_distance_threshold=placement_distance_threshold,
            min_overlap=min_overlap,
            reuse_unchanged=reuse_unchanged,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
            wait_seconds=wait_seconds,
            user=given_user(user),
        ),
    )


@flow(name="forget", flow_run_name="forget-{dataset}", persist_result=False)
async def forget(
    dataset: DatasetName,
    documents: list[str] = [],  # noqa: B006 - the form shows an empty list; it is never changed
    whole_dataset: bool = False,
    wait_seconds: Seconds = 0,
    user: str = "",
) -> State[Any]:
    """Forget documents, or a whole dataset, with everything that nothing else supports.

    Args:
        dataset: Its name or id.
        documents: Source keys or ids of the documents to forget.
        whole_dataset: Forget the dataset with all it holds; needs an empty list of documents.
        wait_seconds: How long to wait while another run writes this dataset; 0 fails at once.
        user: Name or id of the user who owns the dataset; empty for the default user.
    """

    async def work() -> Any:
        if bool(documents) == whole_dataset:
            raise InvalidOptionError("documents", documents, "name documents, or switch whole_dataset on, not both")
        return await api.forget(
            dataset, document=None if whole_dataset else documents, user=given_user(user), wait_seconds=wait_seconds
        )

    return await tasks.policies.observed(dataset, work)


def given_user(given: str) -> str | UUID | None:
    """A user as the forms take one: a name, an id, or nothing for the default user."""
    try:
        return UUID(given)
    except ValueError:
        return given or None
