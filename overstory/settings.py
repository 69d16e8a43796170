"""Settings, read once from the environment at a door and passed down by part.

`docs/settings.md` lists them all; a test holds that page to this file.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from overstory.errors import ConfigurationError

OFFLINE = "offline"
HASHING = "hashing"
MINILM = "minilm"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StoreSettings(_Part):
    home: Path = Field(
        default=Path("~/.overstory"), description="OVERSTORY_HOME: where the embedded store keeps its files."
    )
    url: str = Field(
        default="",
        description="OVERSTORY_STORE_URL: empty for the embedded store, memory://NAME, or weaviate://HOST:PORT?grpc_port=PORT.",
    )
    weaviate_api_key: str = Field(
        default="", repr=False, description="WEAVIATE_API_KEY: for a Weaviate server that asks for one."
    )
    access_control: bool = Field(
        default=True,
        description="ENABLE_BACKEND_ACCESS_CONTROL: each dataset has its own tenant; false: all share one.",
    )
    open_datasets: int = Field(
        default=64, ge=1, description="OVERSTORY_OPEN_DATASETS: embedded datasets kept open at once."
    )
    lease_seconds: float = Field(
        default=90, ge=1, description="OVERSTORY_LEASE_SECONDS: how long a writer that has died keeps a dataset."
    )
    cold_after_days: float = Field(
        default=0,
        ge=0,
        description="OVERSTORY_COLD_AFTER_DAYS: Weaviate datasets not written for so long leave the server's memory when its janitor runs; 0 for never.",
    )
    keep_generations: int = Field(
        default=2, ge=1, description="OVERSTORY_KEEP_GENERATIONS: published generations kept for rollback."
    )


class ModelSettings(_Part):
    model: str = Field(default=OFFLINE, min_length=1, description="LLM_MODEL: offline, or any litellm model name.")
    summarization_model: str = Field(
        default="", description="LLM_SUMMARIZATION_MODEL: another model for the chunk summaries alone."
    )
    api_key: str = Field(default="", repr=False, description="LLM_API_KEY")
    endpoint: str = Field(default="", description="LLM_ENDPOINT: base URL of an OpenAI-compatible server.")
    max_concurrency: int = Field(default=16, ge=1, le=1024, description="LLM_MAX_CONCURRENCY: calls in flight at once.")
    timeout_seconds: float = Field(default=120, gt=0, description="LLM_TIMEOUT_SECONDS: of one try of one call.")
    max_attempts: int = Field(
        default=4, ge=1, le=20, description="LLM_MAX_ATTEMPTS: tries of one call when the service fails."
    )
    context_tokens: int = Field(default=8_000, ge=512, description="LLM_CONTEXT_TOKENS: what a request may hold.")
    output_tokens: int = Field(default=1_500, ge=64, description="LLM_OUTPUT_TOKENS: what an answer may hold.")
    input_usd_per_million: float | None = Field(
        default=None, ge=0, description="LLM_INPUT_USD_PER_MILLION: price, where litellm knows none."
    )
    output_usd_per_million: float | None = Field(
        default=None, ge=0, description="LLM_OUTPUT_USD_PER_MILLION: price, where litellm knows none."
    )

    @property
    def chunk_models(self) -> tuple[str, ...]:
        """Those that read a chunk, a call each."""
        return (self.model, self.summarization_model) if self.summarization_model else (self.model,)


class EmbeddingSettings(_Part):
    model: str = Field(
        default="",
        description="EMBEDDING_MODEL: minilm, hashing, or any litellm name; empty: minilm where its package is installed, else hashing.",
    )
    dimensions: int | None = Field(
        default=None, ge=8, le=8192, description="EMBEDDING_DIMENSIONS: only where the model lets one choose."
    )
    api_key: str = Field(default="", repr=False, description="EMBEDDING_API_KEY")
    endpoint: str = Field(default="", description="EMBEDDING_ENDPOINT")
    batch_size: int = Field(default=64, ge=1, le=2048, description="EMBEDDING_BATCH_SIZE: texts in one request.")
    max_concurrency: int = Field(
        default=4, ge=1, le=256, description="EMBEDDING_MAX_CONCURRENCY: requests in flight at once."
    )


class IndexSettings(_Part):
    chunk_tokens: int = Field(
        default=250, ge=32, le=4_000, description="OVERSTORY_CHUNK_TOKENS: about how long a chunk is."
    )
    write_attempts: int = Field(
        default=3,
        ge=1,
        le=10,
        description="OVERSTORY_WRITE_ATTEMPTS: proposals for one text before the extractive fallback.",
    )
    bucket_tokens: int = Field(
        default=300, ge=60, le=4_000, description="OVERSTORY_BUCKET_TOKENS: about how long a bucket's text is."
    )
    root_tokens: int = Field(
        default=500, ge=60, le=8_000, description="OVERSTORY_ROOT_TOKENS: about how long the root's text is."
    )
    batch_size: int = Field(
        default=32, ge=1, le=512, description="OVERSTORY_BATCH_SIZE: buckets, or chunks, of one step."
    )


class OrchestrationSettings(_Part):
    prefect_api_url: str = Field(default="", description="PREFECT_API_URL: the Prefect server that runs are shown on.")
    orchestrate: bool | None = Field(
        default=None, description="OVERSTORY_ORCHESTRATE: run as Prefect flows; unset: when PREFECT_API_URL is set."
    )
    fallback: bool = Field(
        default=False,
        description="OVERSTORY_ORCHESTRATE_FALLBACK: run without the server, with a warning, when it does not answer.",
    )
    task_runner: Literal["", "dask"] = Field(
        default="", description="OVERSTORY_TASK_RUNNER: dask: batches of a flow run are shared by several processes."
    )
    task_runner_workers: int = Field(
        default=2, ge=1, le=256, description="OVERSTORY_TASK_RUNNER_WORKERS: how many processes these are."
    )

    @property
    def wanted(self) -> bool:
        """Whether calls are flow runs."""
        return bool(self.prefect_api_url) if self.orchestrate is None else self.orchestrate


class TelemetrySettings(_Part):
    traces: bool = Field(
        default=False, description="OVERSTORY_TRACES: make OpenTelemetry spans (extra otel) of what goes on."
    )


class Settings(_Part):
    store: StoreSettings = StoreSettings()
    models: ModelSettings = ModelSettings()
    embeddings: EmbeddingSettings = EmbeddingSettings()
    index: IndexSettings = IndexSettings()
    orchestration: OrchestrationSettings = OrchestrationSettings()
    telemetry: TelemetrySettings = TelemetrySettings()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings.

        Raises:
            ConfigurationError: a variable has a value outside what is allowed; the message names it.
        """
        parts = cls.model_fields.items()
        return cls(**{name: _read_part(field.annotation, environment) for name, field in parts})


def variables(part: type[BaseModel]) -> dict[str, tuple[str, str]]:
    """Environment variables of a part: name → (field, description)."""
    found = {}
    for name, field in part.model_fields.items():
        if field.description:
            variable, _, text = field.description.partition(":")
            found[variable.strip()] = (name, text.strip())
    return found


def _read(part: type[BaseModel], environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[variable] for variable, (name, _) in variables(part).items() if environment.get(variable)}


def _read_part(part: Any, environment: Mapping[str, str]) -> Any:
    try:
        return part(**_read(part, environment))
    except ValidationError as error:
        names = {name: variable for variable, (name, _) in variables(part).items()}
        first = error.errors()[0]
        variable = names.get(str(first["loc"][0]), str(first["loc"][0])) if first["loc"] else part.__name__
        raise ConfigurationError(f"{variable}={first['input']!r} can't be used: {first['msg']}.") from error


def store_scheme(settings: StoreSettings) -> str:
    """`embedded`, `memory`, `weaviate` or `weaviates`.

    Raises:
        ConfigurationError: the URL names another kind of store.
    """
    if not settings.url:
        return "embedded"
    scheme = urlsplit(settings.url).scheme
    if scheme not in {"memory", "weaviate", "weaviates"}:
        raise ConfigurationError(
            f"OVERSTORY_STORE_URL={settings.url!r}: use memory://NAME, weaviate://HOST:PORT or weaviates://HOST:PORT, or leave it unset."
        )
    return scheme
