"""The gateway: one door for model calls, tested against a scripted model behind real HTTP."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass, field, replace

import pytest
from pydantic import BaseModel

from overstory import llm
from overstory.errors import (
    ConfigurationError,
    ModelAccessError,
    ModelInputError,
    ModelInputTooLongError,
    ModelNotFoundError,
    ModelOutputError,
    ModelOverloadedError,
    ModelRefusedError,
    ModelUnavailableError,
)
from overstory.llm import Gateway, Price, find_route, price_of
from overstory.model_limits import RetryPolicy, limiter_for
from overstory.models import Usage
from overstory.schemas import AreaAnswer
from overstory.settings import ModelSettings
from overstory.testing import (
    ScriptedModelServer,
    empty,
    fail,
    refuse,
    refuse_schema,
    say,
    slow,
    think_aloud,
    too_long,
)

QUICK = RetryPolicy(attempts=3, first_delay_seconds=0.001)
HELLO = [{"role": "user", "content": "The launch is in June. When is the launch?"}]


@pytest.fixture
def server():
    with ScriptedModelServer() as running:
        yield running


@pytest.fixture(autouse=True)
async def closed():
    yield
    await llm.close()


def gateway(server, policy=QUICK, **settings):
    return Gateway(ModelSettings(model="openai/scripted", endpoint=server.url, **settings), policy=policy)


async def ask(gate, usage=None, **options):
    return await gate.complete(HELLO, usage=usage or Usage(), max_tokens=100, **options)


def run_python(code, *arguments, cwd=None):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


# --- calls and what they count ---------------------------------------------------------------------


async def test_a_call_returns_the_text_and_counts_itself_and_its_tokens(server):
    usage = Usage()

    text = await ask(gateway(server), usage)

    assert text == "The launch is in June."
    assert (usage.calls, usage.retries, usage.cost_usd) == (1, 0, None)
    assert usage.prompt_tokens > 0
    assert usage.completion_tokens > 0


async def test_a_further_try_for_the_same_text_counts_as_a_retry(server):
    usage = Usage()

    await ask(gateway(server), usage, again=True)

    assert (usage.calls, usage.retries) == (0, 1)


async def test_prices_that_are_given_make_a_cost(server):
    usage = Usage()

    await ask(gateway(server, input_usd_per_million=2.0, output_usd_per_million=10.0), usage)

    assert usage.cost_usd == pytest.approx((usage.prompt_tokens * 2 + usage.completion_tokens * 10) / 1e6)


def test_prices_come_from_the_settings_then_from_litellm_and_are_never_guessed():
    given = ModelSettings(model="gpt-4o", input_usd_per_million=1.0, output_usd_per_million=3.0)

    assert price_of("gpt-4o", given) == Price(1e-6, 3e-6)
    assert price_of("gpt-4o") == Price(2.5e-6, 1e-5)
    assert price_of("openai/gpt-4o") == price_of("gpt-4o")
    assert price_of("openai/nobody-knows-me") is None
    assert price_of("openai/other", given) is None


async def test_an_empty_answer_is_given_back_as_it_is(server):
    server.when(empty(None))

    assert await ask(gateway(server)) == ""


# --- retries and limits ----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 408])
async def test_a_service_that_fails_is_asked_again_by_one_layer_only(server, status):
    server.when(fail(status), times=2)
    usage = Usage()

    await ask(gateway(server), usage)

    assert (usage.calls, usage.retries) == (1, 2)
    assert len(server.chats) == 3


async def test_a_service_that_keeps_failing_is_asked_so_often_and_no_more(server):
    server.when(fail(500))

    with pytest.raises(ModelUnavailableError, match="scripted failure"):
        await ask(gateway(server))

    assert len(server.chats) == QUICK.attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched(RetryPolicy):
    """A policy that keeps the waits that it told."""

    waits: list[float] = field(default_factory=list)

    def delay(self, tries, error):
        wait = RetryPolicy.delay(self, tries, error)
        self.waits.append(wait)
        return wait


@pytest.mark.parametrize("asked", [0.2, 2.0])
async def test_retry_after_is_honoured(server, asked):
    hours = 3_600.0  # what the policy would wait by itself, which is longer than it may
    policy = Watched(attempts=2, first_delay_seconds=hours, longest_delay_seconds=hours, total_seconds=600)
    server.when(fail(429, retry_after=asked), times=1)

    await ask(gateway(server, policy))

    first, second = (request.arrived_seconds for request in server.chats)
    [wait] = policy.waits
    assert asked <= wait <= asked * 1.1
    assert second - first >= wait


async def test_without_the_header_the_policys_own_delay_is_waited_for(server):
    policy = Watched(attempts=2, first_delay_seconds=3_600, longest_delay_seconds=3_600, total_seconds=600)
    server.when(fail(429), times=1)

    with pytest.raises(ModelOverloadedError):
        await ask(gateway(server, policy))

    assert len(server.chats) == 1
    assert policy.waits[0] >= 1_800


async def test_a_wait_that_is_longer_than_the_time_left_is_not_begun(server):
    server.when(fail(429, retry_after=7_200), times=1)

    with pytest.raises(ModelOverloadedError) as caught:
        await ask(gateway(server, RetryPolicy(attempts=2, first_delay_seconds=0.001, total_seconds=600)))

    assert len(server.chats) == 1
    assert caught.value.retry_after_seconds == 7_200


async def test_the_wait_that_a_service_asks_for_is_in_the_error(server):
    server.when(fail(429, retry_after=0.3))

    with pytest.raises(ModelOverloadedError) as caught:
        await ask(gateway(server, RetryPolicy(attempts=1)))

    assert caught.value.retry_after_seconds == 0.3


async def test_no_call_is_lost_when_a_third_of_them_meets_an_overload(server):
    server.when(fail(429, retry_after=0.01), share=0.3)
    gate = gateway(server, RetryPolicy(attempts=4, first_delay_seconds=0.001), max_concurrency=8)
    usage = Usage()

    texts = await asyncio.gather(*(ask(gate, usage) for _ in range(60)))

    assert set(texts) == {"The launch is in June."}
    assert usage.calls == 60
    assert usage.retries == len(server.chats) - 60 > 0
    assert server.max_in_flight <= 8


async def test_an_overload_for_all_ends_with_what_the_service_asked(server):
    server.when(fail(429, retry_after=0.01, message="slow down"))

    with pytest.raises(ModelOverloadedError, match="slow down") as caught:
        await ask(gateway(server))

    assert caught.value.retry_after_seconds == 0.01


async def test_calls_of_all_gateways_to_one_service_share_a_limit(server):
    server.when(slow(0.02))
    gates = [gateway(server, max_concurrency=3) for _ in range(3)]

    await asyncio.gather(*(ask(gate) for gate in gates for _ in range(4)))

    assert server.max_in_flight == 3


async def test_overload_shrinks_the_limit(server):
    gate = gateway(server, RetryPolicy(attempts=1), max_concurrency=8)
    server.when(fail(529))

    with pytest.raises(ModelOverloadedError):
        await ask(gate)
    for _ in range(2):
        with pytest.raises(ModelOverloadedError):
            await ask(gate)

    assert limiter_for(f"chat openai {server.url}", 8).allowed == 1


async def test_an_answer_that_takes_too_long_is_a_service_that_does_not_answer(server):
    server.when(slow(5))

    with pytest.raises(ModelUnavailableError):
        await ask(gateway(server, RetryPolicy(attempts=1), timeout_seconds=0.2))


# --- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (fail(401), ModelAccessError),
        (fail(402), ModelAccessError),
        (fail(403), ModelAccessError),
        (fail(404), ModelNotFoundError),
        (fail(400), ModelInputError),
        (fail(422), ModelInputError),
        (too_long(), ModelInputError),
        (refuse(), ModelRefusedError),
        (refuse(as_error=False), ModelRefusedError),
    ],
)
async def test_what_another_try_cannot_help_is_told_at_once(server, behaviour, expected):
    server.when(behaviour)

    with pytest.raises(expected) as caught:
        await ask(gateway(server))

    assert caught.value.model == "openai/scripted"
    assert len(server.chats) == 1


async def test_a_refused_key_is_not_repeated(server):
    server.when(fail(401, message="Incorrect API key provided: sk-secret123."))
    gate = gateway(server, api_key="sk-secret123")

    with pytest.raises(ModelAccessError, match=r"provided: \*\*\*\.") as whole:
        await ask(gate)
    with pytest.raises(ModelAccessError, match=r"provided: \*\*\*\.") as streamed:
        _ = [piece async for piece in gate.stream(HELLO, usage=Usage(), max_tokens=100)]

    assert "secret123" not in f"{whole.value}{streamed.value}"


async def test_a_dead_port_is_a_service_that_does_not_answer():
    gate = Gateway(ModelSettings(model="openai/x", endpoint="http://127.0.0.1:9/v1"), policy=RetryPolicy(attempts=1))

    with pytest.raises(ModelUnavailableError) as caught:
        await ask(gate)

    assert caught.value.__cause__ is not None


async def test_a_name_without_provider_is_told_how_to_be_written():
    with pytest.raises(ModelNotFoundError, match="provider/model"):
        await ask(Gateway(ModelSettings(model="some-model")))


async def test_a_name_without_provider_is_fine_for_an_endpoint(server):
    gate = Gateway(ModelSettings(model="some-model", endpoint=server.url))

    await ask(gate)

    assert server.chats[0].model == "some-model"


def test_a_key_of_the_environment_is_not_sent_to_an_endpoint(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    route = find_route("openai/x", "", "http://127.0.0.1:9/v1")

    assert route.arguments["api_key"] == "none"


# --- structured answers ----------------------------------------------------------------------------


async def test_the_schema_is_sent_in_its_strict_form(server):
    await ask(gateway(server), schema=AreaAnswer)

    sent = server.chats[0]
    assert sent.schema_name == "AreaAnswer"
    assert sent.schema["additionalProperties"] is False
    assert "JSON schema" not in sent.prompt


async def test_a_service_that_refuses_the_schema_gets_it_in_the_prompt_from_then_on(server):
    server.when(refuse_schema())
    gate, usage = gateway(server), Usage()

    await ask(gate, usage, schema=AreaAnswer)
    await ask(gate, usage, schema=AreaAnswer)

    assert [bool(request.schema) for request in server.chats] == [True, False, False]
    assert all("JSON schema" in request.prompt for request in server.chats[1:])
    assert (usage.calls, usage.retries) == (2, 1)


async def test_a_service_that_ignores_the_schema_gets_it_in_the_prompt_as_well(server):
    gate = gateway(server)
    gate.schema_ignored()

    await ask(gate, schema=AreaAnswer)

    assert server.chats[0].schema
    assert "JSON schema" in server.chats[0].prompt


async def test_a_request_that_is_too_long_is_not_made_longer(server):
    server.when(too_long())
    gate = gateway(server)

    with pytest.raises(ModelInputTooLongError, match="maximum context length"):
        await ask(gate, schema=AreaAnswer)
    asked = len(server.chats)
    server.behave()
    await ask(gate, schema=AreaAnswer)

    assert asked == 1
    assert server.chats[-1].schema


async def test_a_request_that_is_refused_either_way_keeps_its_error(server):
    server.when(lambda request, reply: replace(reply, status=400, code="bad", message="the messages are malformed"))
    gate = gateway(server)

    with pytest.raises(ModelInputError, match="malformed"):
        await ask(gate, schema=AreaAnswer)
    server.behave()
    await ask(gate, schema=AreaAnswer)

    assert server.chats[-1].schema


async def test_any_schema_gets_an_instance(server):
    class Reply(BaseModel):
        answer: str
        sure: bool
        sources: list[int]

    text = await ask(gateway(server), schema=Reply)

    assert Reply.model_validate_json(text).answer == "The launch is in June."


# --- streams ---------------------------------------------------------------------------------------


async def stream(gate, usage):
    return [piece async for piece in gate.stream(HELLO, usage=usage, max_tokens=100)]


async def test_a_stream_comes_in_pieces_and_counts_like_a_call(server):
    usage = Usage()

    pieces = await stream(gateway(server), usage)

    assert "".join(pieces).strip() == "The launch is in June."
    assert len(pieces) > 1
    assert usage.calls == 1
    assert usage.completion_tokens > 0


async def test_a_stream_is_tried_again_before_its_first_piece(server):
    server.when(fail(503), times=1)
    usage = Usage()

    pieces = await stream(gateway(server), usage)

    assert "".join(pieces).strip() == "The launch is in June."
    assert usage.retries == 1


async def test_a_stream_hides_the_thoughts(server):
    server.when(think_aloud())

    pieces = await stream(gateway(server), Usage())

    assert "".join(pieces).strip() == "The launch is in June."


@pytest.mark.parametrize("behaviour", [empty(), say("  "), think_aloud(closed=False)])
async def test_a_stream_of_nothing_is_an_error_not_an_answer(server, behaviour):
    server.when(behaviour)

    with pytest.raises(ModelOutputError, match="empty"):
        await stream(gateway(server), Usage())


async def test_a_stream_that_the_provider_stops_is_a_refusal(server):
    server.when(refuse(as_error=False))

    with pytest.raises(ModelRefusedError):
        await stream(gateway(server), Usage())


async def test_a_stream_may_be_left_in_the_middle(server):
    gate = gateway(server, max_concurrency=1)
    pieces = gate.stream(HELLO, usage=Usage(), max_tokens=100)

    first = await anext(pieces)
    await pieces.aclose()

    assert first.strip() == "The"
    assert await ask(gate)


# --- litellm as a guest ----------------------------------------------------------------------------


def test_litellm_is_imported_with_the_first_call_and_not_before():
    done = run_python(
        """
import sys
from overstory.embeddings import LiteLLMEmbedder
from overstory.llm import Gateway
from overstory.model_writer import ModelWriter
from overstory.offline.writer import OfflineWriter
from overstory.settings import EmbeddingSettings, ModelSettings
from overstory.testing import ScriptedModelServer
ModelWriter(ModelSettings(model="openai/x"), fallback=OfflineWriter()).prompt_version
LiteLLMEmbedder(EmbeddingSettings(model="openai/x"))
print({"litellm", "openai", "httpx", "aiohttp"} & set(sys.modules))
"""
    )

    assert done.stdout == "set()\n"


def test_litellm_is_a_quiet_guest(server, tmp_path):
    """It reads no `.env`, prints nothing, leaves the logs to their owner and no connection behind a loop."""
    (tmp_path / ".env").write_text("FROM_DOTENV=1\n")

    done = run_python(
        """
import asyncio, gc, logging, os, sys
from overstory import llm
from overstory.models import Usage
from overstory.settings import ModelSettings
logging.basicConfig(stream=sys.stdout, format="seen %(message)s")

async def main():
    gate = llm.Gateway(ModelSettings(model="openai/x", endpoint=sys.argv[1]))
    await gate.complete([{"role": "user", "content": "Hello. Who?"}], usage=Usage(), max_tokens=9)
    await llm.close()

asyncio.run(main())
before = len(os.listdir("/proc/self/fd"))
for _ in range(5):
    asyncio.run(main())
gc.collect()
assert len(os.listdir("/proc/self/fd")) <= before
assert "FROM_DOTENV" not in os.environ
logging.getLogger("LiteLLM").warning("once")
""",
        server.url,
        cwd=tmp_path,
    )

    assert done.stdout == "seen once\n"
    assert done.stderr == ""


def test_calls_come_through_where_warnings_have_become_errors_since_the_import(server):
    done = run_python(
        """
import asyncio, sys, warnings
from overstory import llm
from overstory.embeddings import LiteLLMEmbedder
from overstory.models import Usage
from overstory.settings import EmbeddingSettings, ModelSettings
llm.load_litellm()
warnings.resetwarnings()
warnings.simplefilter("error")
hello = [{"role": "user", "content": "Hello. Who?"}]

async def main():
    embedder = LiteLLMEmbedder(EmbeddingSettings(model="openai/x", endpoint=sys.argv[1], dimensions=8))
    assert len(await embedder.embed(["Hello"])) == 1
    gate = llm.Gateway(ModelSettings(model="openai/x", endpoint=sys.argv[1]))
    assert await gate.complete(hello, usage=Usage(), max_tokens=9)
    assert [piece async for piece in gate.stream(hello, usage=Usage(), max_tokens=9)]
    await llm.close()

asyncio.run(main())
filters = list(warnings.filters)
asyncio.run(main())
print(warnings.filters == filters)
""",
        server.url,
    )

    assert done.stdout == "True\n"


def test_without_the_package_the_way_out_is_named():
    done = run_python(
        """
import sys
sys.modules["litellm"] = None
from overstory.errors import MissingPackageError
from overstory.llm import load_litellm
try:
    load_litellm()
except MissingPackageError as error:
    print(error)
"""
    )

    assert "overstory[models]" in done.stdout


def test_the_error_for_a_missing_package_is_for_whoever_sets_things_up():
    from overstory.errors import MissingPackageError

    assert issubclass(MissingPackageError, ConfigurationError)
