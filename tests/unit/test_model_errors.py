"""Every error of the model library becomes one of ours, by who must act."""

import inspect
import time
from email.utils import formatdate
from types import SimpleNamespace

import httpx
import pytest

from overstory import errors
from overstory.errors import ModelError
from overstory.llm import load_litellm
from overstory.model_errors import retry_after_seconds, translate

EXPECTED = {
    "AuthenticationError": errors.ModelAccessError,
    "CallerCredentialAuthenticationError": errors.ModelAccessError,
    "PermissionDeniedError": errors.ModelAccessError,
    "PaymentRequiredError": errors.ModelAccessError,
    "BudgetExceededError": errors.ModelAccessError,
    "NotFoundError": errors.ModelNotFoundError,
    "LiteLLMUnknownProvider": errors.ModelNotFoundError,
    "ModelNotMappedError": errors.ModelNotFoundError,
    "EndpointNotSupportedByModelError": errors.ModelNotFoundError,
    "UnsupportedEndpointError": errors.ModelNotFoundError,
    "BadRequestError": errors.ModelInputError,
    "ImageFetchError": errors.ModelInputError,
    "VectorStoreSearchError": errors.ModelInputError,
    "MalformedRequestFieldError": errors.ModelInputError,
    "UnprocessableEntityError": errors.ModelInputError,
    "UnsupportedParamsError": errors.ModelInputError,
    "InvalidRequestError": errors.ModelInputError,
    "ContextWindowExceededError": errors.ModelInputTooLongError,
    "ContentPolicyViolationError": errors.ModelRefusedError,
    "RejectedRequestError": errors.ModelRefusedError,
    "GuardrailRaisedException": errors.ModelRefusedError,
    "BlockedPiiEntityError": errors.ModelRefusedError,
    "ModifyResponseException": errors.ModelRefusedError,
    "SensitiveDataRouteException": errors.ModelRefusedError,
    "Timeout": errors.ModelUnavailableError,
    "ServiceUnavailableError": errors.ModelUnavailableError,
    "MidStreamFallbackError": errors.ModelUnavailableError,
    "BadGatewayError": errors.ModelUnavailableError,
    "InternalServerError": errors.ModelUnavailableError,
    "APIError": errors.ModelUnavailableError,
    "APIConnectionError": errors.ModelUnavailableError,
    "APIResponseValidationError": errors.ModelUnavailableError,
    "MockException": errors.ModelUnavailableError,
    "RateLimitError": errors.ModelOverloadedError,
    "CallerCredentialRateLimitError": errors.ModelOverloadedError,
    "JSONSchemaValidationError": errors.ModelOutputError,
    "OpenAIError": ModelError,
}
STATUS = {
    "AuthenticationError": 401,
    "CallerCredentialAuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "UnprocessableEntityError": 422,
    "ServiceUnavailableError": 503,
    "MidStreamFallbackError": 503,
    "BadGatewayError": 502,
    "InternalServerError": 500,
    "APIError": 500,
    "MockException": 500,
    "RateLimitError": 429,
    "CallerCredentialRateLimitError": 429,
}


def foreign_classes():
    found = vars(load_litellm().exceptions)
    return {name: kind for name, kind in found.items() if inspect.isclass(kind) and issubclass(kind, Exception)}


def raised(name):
    """An error of a class, with the status that the class stands for."""
    kind = foreign_classes()[name]
    error = kind.__new__(kind)
    error.status_code = STATUS.get(name, 400 if "BadRequestError" in {c.__name__ for c in kind.__mro__} else None)
    if name == "InvalidRequestError":
        error.status_code = 400
    error.message, error.args = "it failed", ("it failed",)
    error.num_retries = error.max_retries = error.original_exception = None
    return error


def test_no_foreign_class_is_left_out():
    assert set(foreign_classes()) == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_each_foreign_class_becomes_the_right_one(name):
    error = raised(name)

    made = translate("some/model", error)

    assert type(made) is EXPECTED[name]
    assert made.model == "some/model"


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (400, "The response was filtered: content_filter", errors.ModelRefusedError),
        (400, "prompt is too long", errors.ModelInputTooLongError),
        (402, "no credit", errors.ModelAccessError),
        (408, "slow", errors.ModelUnavailableError),
        (413, "too large", errors.ModelInputTooLongError),
        (400, "input exceeds the context window", errors.ModelInputTooLongError),
        (400, "response_format is unknown", errors.ModelInputError),
        (429, "slow down", errors.ModelOverloadedError),
        (429, "insufficient_quota: check your plan", errors.ModelAccessError),
        (500, "oops", errors.ModelUnavailableError),
        (529, "overloaded", errors.ModelOverloadedError),
        (400, "LLM Provider NOT provided", errors.ModelNotFoundError),
    ],
)
def test_where_the_class_says_nothing_the_status_decides(status, text, expected):
    error = RuntimeError(text)
    error.status_code = status

    assert type(translate("m", error)) is expected


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionRefusedError("no"), OSError("unreachable")])
def test_connection_faults_may_pass(error):
    assert type(translate("m", error)) is errors.ModelUnavailableError


def test_our_own_error_stays_itself():
    ours = errors.ModelRefusedError("m", "no")

    assert translate("m", ours) is ours


def test_the_message_is_one_short_line_without_prefixes():
    made = translate("m", OSError("litellm.RateLimitError: RateLimitError: OpenAIException - slow\ndown " + "x" * 900))

    assert str(made).startswith("m: slow down xxx")
    assert len(str(made)) < 350


def test_the_key_is_not_repeated():
    said = "x" * 230 + " Incorrect API key provided: sk-secret123. You can find"

    assert "sk-" not in str(translate("m", OSError(said), "sk-secret123"))
    assert str(translate("m", OSError("not x: sk-secret123."), "sk-secret123")).startswith("m: not x: ***. - ")
    assert str(translate("m", OSError("not x"), "x")).startswith("m: not x - ")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_from_the_response(headers, seconds):
    error = RuntimeError("busy")
    error.response = SimpleNamespace(headers=httpx.Headers(headers))

    assert retry_after_seconds(error) == seconds


def test_retry_after_may_be_a_date():
    error = RuntimeError("busy")
    begun = time.time()
    date = int(begun) + 3_600
    error.response = SimpleNamespace(headers=httpx.Headers({"Retry-After": formatdate(date, usegmt=True)}))

    seconds = retry_after_seconds(error)

    assert date - time.time() <= seconds <= date - begun


@pytest.mark.parametrize(
    "said",
    [
        "Missing credentials. Please pass an `api_key`, or set the OPENAI_API_KEY environment variable.",
        "The api_key client option must be set either by passing api_key or by an environment variable",
    ],
)
def test_a_key_that_is_missing_is_no_service_that_is_down(said):
    class APIConnectionError(Exception):
        pass

    translated = translate("openai/x", APIConnectionError(said))

    assert type(translated) is errors.ModelAccessError
    assert "LLM_API_KEY" in str(translated)
