"""What goes wrong leaves as an error that says who must act: foreign errors, and a real server's refusals."""

import inspect
import logging
import re
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from grpc import RpcError, StatusCode
from weaviate import exceptions as foreign
from weaviate.collections.classes.batch import BatchObject, ErrorObject

from overstory.errors import (
    ConfigurationError,
    DatasetNotFoundError,
    OverstoryError,
    RowsRejectedError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StoreVersionError,
    TransientError,
)
from overstory.models import Entity
from overstory.settings import StoreSettings
from overstory.stores.weaviate import WeaviateStore, registry, writing
from overstory.stores.weaviate.calls import Patience
from overstory.stores.weaviate.connecting import Link
from overstory.stores.weaviate.faults import fault
from overstory.stores.weaviate.writing import CHUNK_BYTES, CHUNK_ROWS, _chunks
from tests.contract.samples import dataset, random_vectors, row, unit

PLACE = "weaviate://localhost:8080"
FOREIGN = sorted(
    {
        kind
        for kind in vars(foreign).values()
        if inspect.isclass(kind) and issubclass(kind, foreign.WeaviateBaseError) and not kind.__name__.startswith("_")
    },
    key=lambda kind: kind.__name__,
)


class Answer(RpcError):
    """What gRPC raises."""

    def __init__(self, code: StatusCode, details: str = "details") -> None:
        super().__init__(details)
        self._code, self._details = code, details

    def code(self) -> StatusCode:
        return self._code

    def details(self) -> str:
        return self._details


def _response(status: int) -> httpx.Response:
    return httpx.Response(status, json={"error": [{"message": "details"}]}, request=httpx.Request("GET", "http://x"))


def _made(kind):
    """An error of the client, with whatever its class wants."""
    given = {"response": _response(418), "res": _response(418), "data": {}, "count": 1}
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    required = [
        p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD and p.kind is not p.VAR_POSITIONAL
    ]
    return kind(**{p.name: given.get(p.name, "details") for p in required})


@pytest.mark.parametrize("kind", FOREIGN)
def test_every_error_of_the_client_becomes_one_of_ours_that_names_the_place(kind):
    translation = fault(_made(kind), PLACE)

    assert isinstance(translation, StoreError | ConfigurationError)
    assert PLACE in str(translation)


@pytest.mark.parametrize("code", list(StatusCode))
def test_every_grpc_status_is_known_also_below_an_error_of_the_client(code):
    below = foreign.WeaviateQueryError("failed", "GRPC search")
    below.__cause__ = Answer(code)

    assert type(fault(below, PLACE)) is type(fault(Answer(code), PLACE))
    assert isinstance(fault(below, PLACE), OverstoryError)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Answer(StatusCode.UNAVAILABLE), StoreUnavailableError),
        (Answer(StatusCode.DEADLINE_EXCEEDED), StoreUnavailableError),
        (Answer(StatusCode.RESOURCE_EXHAUSTED), StoreUnavailableError),
        (Answer(StatusCode.UNAUTHENTICATED), ConfigurationError),
        (Answer(StatusCode.PERMISSION_DENIED), ConfigurationError),
        (Answer(StatusCode.DATA_LOSS), StoreDamagedError),
        (Answer(StatusCode.UNKNOWN, "store is read-only due to: disk usage too high"), StoreFullError),
        (Answer(StatusCode.UNKNOWN, 'explorer: tenant not found: "0f"'), DatasetNotFoundError),
        (Answer(StatusCode.UNKNOWN, "context deadline exceeded"), StoreUnavailableError),
        (Answer(StatusCode.UNKNOWN, "something else"), StoreError),
        (foreign.UnexpectedStatusCodeError("x", _response(401)), ConfigurationError),
        (foreign.UnexpectedStatusCodeError("x", _response(403)), ConfigurationError),
        (foreign.UnexpectedStatusCodeError("x", _response(429)), StoreUnavailableError),
        (foreign.UnexpectedStatusCodeError("x", _response(503)), StoreUnavailableError),
        (foreign.UnexpectedStatusCodeError("x", _response(507)), StoreFullError),
        (foreign.UnexpectedStatusCodeError("x", _response(422)), StoreError),
        (foreign.WeaviateTimeoutError("x"), StoreUnavailableError),
        (httpx.ConnectError("x"), StoreUnavailableError),
        (httpx.RemoteProtocolError("x"), StoreUnavailableError),
        (TimeoutError(), StoreUnavailableError),
    ],
)
def test_what_can_be_done_decides_the_error(error, expected):
    assert type(fault(error, PLACE)) is expected


def test_only_what_may_pass_is_worth_another_try():
    assert isinstance(fault(Answer(StatusCode.UNAVAILABLE), PLACE), TransientError)
    assert not isinstance(fault(Answer(StatusCode.UNKNOWN, "store is read-only"), PLACE), TransientError)


def test_a_message_is_too_short_to_hold_a_text():
    told = str(fault(foreign.WeaviateBaseError("word " * 1_000), PLACE))

    assert len(told) < 600


# --- refusals of single rows -----------------------------------------------------------------------


class Refusing:
    """A collection's `data` that refuses some objects for a while."""

    def __init__(self, refused: set, times: int, message: str) -> None:
        self.sent: list[int] = []
        self._refused, self._times, self._message = refused, times, message

    async def insert_many(self, objects):
        self.sent.append(len(objects))
        if self._times == 0:
            return SimpleNamespace(errors={})
        self._times -= 1
        bad = {i: one for i, one in enumerate(objects) if one.uuid in self._refused}
        failed = {
            i: ErrorObject(message=self._message, object_=BatchObject(collection="X", index=i, uuid=str(one.uuid)))
            for i, one in bad.items()
        }
        if len(failed) == len(objects):
            raise foreign.WeaviateInsertManyAllFailedError(self._message)
        return SimpleNamespace(errors=failed)


class TooLarge(Refusing):
    async def insert_many(self, objects):
        self.sent.append(len(objects))
        if len(objects) > self._times:
            error = foreign.WeaviateBatchError("x")
            error.__cause__ = Answer(StatusCode.RESOURCE_EXHAUSTED, "received message larger than max")
            raise error
        return SimpleNamespace(errors={})


def _link() -> Link:
    address = SimpleNamespace(place=PLACE)
    return Link(None, address, False, Patience(read_seconds=1, write_seconds=1), "1.40.0")


def _entities(count: int):
    owner = dataset().id
    return [row(Entity, owner) for _ in range(count)]


async def test_only_what_was_refused_is_sent_again():
    rows = _entities(5)
    data = Refusing({rows[1].key, rows[3].key}, 1, "some reason")

    await writing.put(_link(), SimpleNamespace(data=data), Entity, rows, None)

    assert data.sent == [5, 2]


async def test_what_is_refused_again_and_again_is_named():
    rows = _entities(5)
    data = Refusing({rows[1].key, rows[3].key}, 99, "some reason")

    with pytest.raises(RowsRejectedError, match="some reason") as caught:
        await writing.put(_link(), SimpleNamespace(data=data), Entity, rows, None)

    assert set(caught.value.keys) == {rows[1].key, rows[3].key}


async def test_a_full_store_says_so_whichever_row_it_refused():
    rows = _entities(5)
    data = Refusing({rows[1].key}, 99, "store is read-only")

    with pytest.raises(StoreFullError):
        await writing.put(_link(), SimpleNamespace(data=data), Entity, rows, None)


async def test_what_is_too_large_goes_in_halves():
    data = TooLarge(set(), 2, "")

    await writing.put(_link(), SimpleNamespace(data=data), Entity, _entities(7), None)

    assert max(data.sent) == 7
    assert sum(count for count in data.sent if count <= 2) == 7


async def test_one_row_that_is_too_large_is_refused_by_name():
    rows = _entities(1)

    with pytest.raises(RowsRejectedError, match="too large"):
        await writing.put(_link(), SimpleNamespace(data=TooLarge(set(), 0, "")), Entity, rows, None)


def test_chunks_hold_few_enough_rows_and_bytes():
    rows = [*_entities(450), *[row(Entity, dataset().id, description="x" * 1_000_000) for _ in range(7)]]

    chunks = list(_chunks(rows, random_vectors(len(rows))))

    assert [one.uuid for chunk in chunks for one in chunk] == [one.key for one in rows]
    assert all(len(chunk) <= CHUNK_ROWS for chunk in chunks)
    sizes = [sum(len(one.properties["description"]) for one in chunk) for chunk in chunks]
    assert max(sizes) <= CHUNK_BYTES


# --- a real server's refusals ----------------------------------------------------------------------


async def test_rows_of_a_dataset_that_is_gone_are_not_found(store, registered, tenant):
    await store.drop_dataset(registered.id)

    for call in (
        lambda: tenant.count(Entity),
        lambda: tenant.get(Entity, [registered.id]),
        lambda: tenant.put([row(Entity, registered.id)]),
        lambda: tenant.patch(Entity, {registered.id: {"name": "x"}}),
        lambda: tenant.delete(Entity, [registered.id]),
        lambda: tenant.search_vectors(Entity, unit(1), 3),
        lambda: tenant.search_text(Entity, "word", 3),
        lambda: tenant.find(Entity, "chunk_id", [registered.id]),
    ):
        with pytest.raises(DatasetNotFoundError):
            await call()


async def test_a_vector_of_another_size_than_the_tenants_is_refused_with_both(settings):
    store = WeaviateStore(settings.model_copy(update={"access_control": False}), settle_seconds=0)
    small, large = [await store.create_dataset(dataset(dimensions=n)) for n in (8, 12)]
    await (await store.tenant(small)).put([row(Entity, small.id)], unit(1)[None])

    with pytest.raises(RowsRejectedError, match="wrong size"):
        await (await store.tenant(large)).put([row(Entity, large.id)], unit(1, dimensions=12)[None])

    for one in (small, large):
        await store.drop_dataset(one.id)
    await store.close()


async def test_no_text_and_no_vector_is_logged_when_rows_are_refused(tenant, caplog):
    caplog.set_level(logging.DEBUG)
    await tenant.put([row(Entity, tenant.dataset_id, name="secretname")], unit(1)[None])
    link = await tenant._connections.link()
    wrong = _chunks([row(Entity, tenant.dataset_id, name="secretname") for _ in range(2)], np.ones((2, 5), np.float32))

    with pytest.raises(RowsRejectedError) as caught:
        await writing.put_objects(link, link.rows(Entity, str(tenant.dataset_id)), "Entity", next(wrong))

    assert "secretname" not in caplog.text + str(caught.value)


async def test_nobody_there_is_unavailable_within_the_time_given():
    store = WeaviateStore(
        StoreSettings(url="weaviate://127.0.0.1:9?grpc_port=10"), patience=Patience(read_seconds=2, write_seconds=2)
    )

    with pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1:9") as caught:
        await store.list_datasets()

    assert "Details: ." not in str(caught.value) and "Details: )" not in str(caught.value)

    await store.close()


async def test_a_wrong_port_of_grpc_is_named(url):
    wrong = re.sub(r"grpc_port=\d+", "grpc_port=10", url)
    store = WeaviateStore(StoreSettings(url=wrong), patience=Patience(read_seconds=3, write_seconds=3))

    with pytest.raises(StoreUnavailableError, match=r"gRPC at 127\.0\.0\.1:10: check grpc_port"):
        await store.list_datasets()

    await store.close()


async def test_a_newer_schema_is_refused_with_both_numbers(url):
    store = WeaviateStore(StoreSettings(url=url), settle_seconds=0)
    link = await store._connections.link()
    key = registry.ids.make_id("registry", registry.SCHEMA)
    await registry._write(link, key, registry.SCHEMA, body='{"version": 99}')
    await store.close()

    newer = WeaviateStore(StoreSettings(url=url), settle_seconds=0)
    with pytest.raises(StoreVersionError) as caught:
        await newer.list_datasets()

    assert (caught.value.found, caught.value.supported) == (99, 1)
    await newer.close()
