"""Who is let in, how much and how often, and what those who are not are told."""

import inspect
import stat
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from overstory import errors
from overstory.errors import OverstoryError
from overstory.serve import problems
from overstory.serve.entrance import CONTENT_SECURITY_POLICY
from overstory.serve.keys import KeyRing
from overstory.serve.limits import RateLimiter
from overstory.serve.options import is_loopback
from tests.serve.conftest import MakeClient, texts

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def ring(plain_environment: Path) -> KeyRing:
    return KeyRing(plain_environment / "serve" / "keys.json")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def test_a_missing_and_a_wrong_key_are_told_the_same_whatever_they_ask_for(make_client: MakeClient, ring: KeyRing) -> None:  # fmt: skip
    client = make_client(require_key=True)
    ada = bearer(ring.add("ada"))
    await client.post("/v1/remember", json={"dataset": "notes", "texts": texts()}, headers=ada)

    answers = [
        await client.get(f"/v1/datasets/{name}", headers=headers)
        for name in ("notes", "nothing")
        for headers in ({}, bearer("ovs_00000000_wrong"), bearer(""), bearer(ada["Authorization"][7:] + "x"))
    ]

    assert {one.status_code for one in answers} == {401}
    assert len({(one.json()["detail"], one.json()["code"], one.headers["www-authenticate"]) for one in answers}) == 1


async def test_another_users_dataset_is_not_there(make_client: MakeClient, ring: KeyRing) -> None:
    client = make_client(require_key=True)
    ada, eve = bearer(ring.add("ada")), bearer(ring.add("eve"))
    await client.post("/v1/remember", json={"dataset": "secret notes", "texts": texts()}, headers=ada)
    dataset_id = (await client.get("/v1/datasets", headers=ada)).json()[0]["status"]["id"]

    for name in ("secret notes", "secret note", dataset_id):
        for path in ("", "/tree", "/generations", "/builds", "/export", "/search?q=launch"):
            answer = await client.get(f"/v1/datasets/{name}{path}", headers=eve)
            assert (answer.status_code, answer.json()["data"].get("nearest")) == (404, None)
    verbs = {"improve": {}, "preview": {}, "rebuild": {}, "rollback": {"generation": 0}, "forget": {"documents": "all"}}
    for verb, form in verbs.items():
        answer = await client.post(f"/v1/{verb}", json={"dataset": dataset_id, **form}, headers=eve)
        assert (answer.status_code, answer.json()["data"].get("nearest")) == (404, None)
    undone = {"dataset_id": dataset_id, "score": 1, "moved": {}}
    assert (await client.post("/v1/feedback/undo", json=undone, headers=eve)).status_code == 404
    asked = await client.post("/v1/recall", json={"query_text": "launch?", "datasets": [dataset_id]}, headers=eve)
    near = await client.get("/v1/datasets/secret note", headers=ada)

    assert asked.status_code == 404
    assert near.json()["data"]["nearest"] == "secret notes"
    assert (await client.get("/v1/datasets", headers=eve)).json() == []


async def test_a_job_is_seen_by_its_user_only(make_client: MakeClient, ring: KeyRing) -> None:
    client = make_client(require_key=True)
    ada, eve = bearer(ring.add("ada")), bearer(ring.add("eve"))

    begun = await client.post("/v1/remember", json={"texts": ["Ada Brook."], "background": True}, headers=ada)

    assert (await client.get(begun.headers["location"], headers=eve)).status_code == 404
    assert (await client.get(begun.headers["location"], headers=ada)).status_code == 200


async def test_a_removed_key_stops_working_at_once(make_client: MakeClient, ring: KeyRing) -> None:
    client = make_client(require_key=True)
    ada = bearer(ring.add("ada"))
    before = await client.get("/v1/me", headers=ada)

    ring.remove(ring.entries()[0].id)

    assert (before.status_code, (await client.get("/v1/me", headers=ada)).status_code) == (200, 401)


def test_keys_are_kept_hashed_in_a_file_of_their_owner(ring: KeyRing, plain_environment: Path) -> None:
    key = ring.add("ada")

    file = plain_environment / "serve" / "keys.json"
    assert key.split("_", 2)[2] not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (ring.user_of(key), ring.user_of(key[:-1])) == ("ada", None)


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "127.0.0.1.evil.example"}, {"Origin": "null"}])  # fmt: skip
async def test_without_keys_a_foreign_page_is_refused(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    answer = await client.get("/v1/datasets", headers=headers)

    assert answer.status_code == 403


async def test_a_request_that_is_too_large_is_413(make_client: MakeClient) -> None:
    client = make_client(max_body_bytes=1_000)

    async def pieces():
        for _ in range(20):
            yield b"x" * 100

    told = [
        await client.post("/v1/remember", json={"texts": ["x" * 2_000]}),
        await client.post("/v1/remember", content=pieces(), headers={"Content-Type": "application/json"}),
        await client.post("/v1/remember/files", files={"files": ("a.md", b"x" * 2_000)}),
    ]

    assert [(one.status_code, one.headers["content-type"]) for one in told] == [(413, problems.MEDIA_TYPE)] * 3
    assert (await client.get("/v1/datasets")).json() == []


async def test_too_many_requests_are_429_and_told_when_to_come_again(make_client: MakeClient) -> None:
    client = make_client(requests_per_minute=3)

    answers = [await client.get("/v1/me") for _ in range(4)]

    assert [one.status_code for one in answers] == [200, 200, 200, 429]
    assert int(answers[3].headers["retry-after"]) >= 1


def test_a_limiter_gives_back_with_time_and_knows_clients_apart() -> None:
    now = [0.0]
    limiter = RateLimiter(2, clock=lambda: now[0])
    taken = [limiter.wait_seconds("a") for _ in range(3)]

    now[0] = 30

    assert taken == [0, 0, 30]
    assert [limiter.wait_seconds("a"), limiter.wait_seconds("b")] == [0, 0]


async def test_every_answer_has_an_id_and_the_policy(client: httpx.AsyncClient) -> None:
    page, given, forged = (
        await client.get("/"),
        await client.get("/v1/me", headers={"X-Request-ID": "abc-1"}),
        await client.get("/v1/me", headers={"X-Request-ID": "a b\tc"}),
    )

    assert page.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert given.headers["x-request-id"] == "abc-1"
    assert forged.headers["x-request-id"] != "a b\tc"


async def test_the_page_holds_no_inline_script_and_names_no_other_place(client: httpx.AsyncClient) -> None:
    from importlib.resources import files

    for file in (files("overstory.serve") / "pages").iterdir():
        text = file.read_text(encoding="utf-8")
        assert "innerHTML" not in text and "eval(" not in text
        assert "https://" not in text.replace("https?:", "")
        assert (await client.get(f"/{file.name}")).status_code == 200


@pytest.mark.parametrize(
    "path", ["/../keys.json", "/%2e%2e/app.py", "/..%2fapp.py", "/serve/keys.json", "//etc/passwd"]
)
async def test_a_path_outside_of_the_page_is_not_served(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(f"http://127.0.0.1{path}")

    assert answer.status_code == 404
    assert answer.headers["content-type"] == problems.MEDIA_TYPE


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("example.org", False), ("", False)])  # fmt: skip
def test_loopback_is_known(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


# --- problems --------------------------------------------------------------------------------------

_EXAMPLES: dict[str, object] = {"list": [], "datetime": NOW}


def kinds(kind: type[OverstoryError] = OverstoryError) -> list[type[OverstoryError]]:
    found = [one for one in kind.__subclasses__() if one.__module__ == errors.__name__]
    return [kind, *(below for one in found for below in kinds(one))]


def example(kind: type[OverstoryError]) -> OverstoryError:
    values = {"str": "x", "int": 1, "float": 1.5, "datetime": NOW, "object": "x", "Sequence[int]": [1], "Sequence[str]": ["x"], "Sequence[UUID]": [UUID(int=1)]}  # fmt: skip
    if "__init__" not in vars(kind) and kind.__init__ is Exception.__init__:
        return kind("x")
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    given = [values.get(str(getattr(p.annotation, "__name__", p.annotation)).split(" |")[0], "x") for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]  # fmt: skip
    given = [values.get(str(p.annotation), one) for p, one in zip(parameters, given, strict=False)]
    return kind(*given)


@pytest.mark.parametrize("kind", dict.fromkeys(kinds()), ids=lambda kind: kind.__name__)
def test_every_error_is_a_problem_with_its_code(kind: type[OverstoryError]) -> None:
    try:
        error = example(kind)
    except (TypeError, ValueError):
        error = kind.__new__(kind)

    problem = problems.problem_of(error, "id-1")

    assert problem.code == kind.__name__
    assert problem.status in problems.STATUSES and problem.status >= 400
    assert problem.transient is issubclass(kind, errors.TransientError)
    assert problems.response(problem).media_type == problems.MEDIA_TYPE


@pytest.mark.parametrize("kind", dict.fromkeys(kinds()), ids=lambda kind: kind.__name__)
def test_every_kind_of_error_has_a_status_of_its_own_or_of_its_family(kind: type[OverstoryError]) -> None:
    of_all = (OverstoryError, errors.TransientError)

    given = next(one for one in kind.__mro__ if one in problems.STATUS_OF)

    assert kind in of_all or given not in of_all
    assert not issubclass(kind, errors.TransientError) or problems.STATUS_OF[given] in {409, 502, 503}


def test_a_store_error_keeps_the_servers_files_to_itself() -> None:
    problem = problems.problem_of(errors.StoreDamagedError("/home/ada/.overstory/x.db holds nonsense"), "id-1")

    assert "/home/ada" not in problem.model_dump_json()


async def test_a_form_that_makes_no_sense_is_told_what_to_change(client: httpx.AsyncClient) -> None:
    answers = [
        await client.post("/v1/recall", json={"query_text": "x", "no_such_option": 1}),
        await client.post(
            "/v1/recall", content=b'{"query_text": "\\ud800"}', headers={"Content-Type": "application/json"}
        ),
        await client.post("/v1/recall", content=b"[" * 100_000, headers={"Content-Type": "application/json"}),
        await client.post("/v1/recall", json={"query_text": " \x00 "}),
    ]

    assert all(400 <= one.status_code < 500 for one in answers), [one.text for one in answers]
    assert all(one.headers["content-type"] == problems.MEDIA_TYPE for one in answers)
    assert "no_such_option" in answers[0].json()["detail"]


async def test_a_name_of_control_characters_is_refused(client: httpx.AsyncClient) -> None:
    answers = [
        await client.post("/v1/improve", json={"dataset": "\x00"}),
        await client.post("/v1/remember/files", files={"files": ("a.md", b"x")}, params={"dataset": "\x01 "}),
    ]

    assert [one.status_code for one in answers] == [422, 422]
