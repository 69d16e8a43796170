"""Every error that Overstory raises.

    OverstoryError
    ├── UsageError                      the caller must change the call (also a ValueError)
    │   ├── InvalidOptionError          an option has a value outside what is allowed
    │   ├── InvalidQueryError           a question or its parameters make no sense
    │   │   └── ContextBudgetError      the budget of the context has no room for anything that was found
    │   ├── DatasetNotFoundError        no dataset of that name (names the nearest one)
    │   ├── DocumentNotFoundError       no document of that source or id
    │   ├── GenerationNotFoundError     no such published generation
    │   ├── IndexMismatchError          the index was built another way; rebuild=True is the way out
    │   └── PermissionDeniedError       the user may not do this with the dataset
    ├── ConfigurationError              whoever sets the environment must change it
    │   ├── MissingPackageError         an extra is not installed
    │   └── EmbeddingMismatchError      a dataset was stored with another embedding model
    ├── NoDataError                     the dataset holds nothing yet
    ├── UnreadableSourceError           one source can't be read; carries the reason
    ├── DatasetBusyError     transient  another writer holds the dataset
    ├── OrchestratorUnavailableError  transient  the Prefect server does not answer
    ├── WorkerLostError  transient      the processes that work on batches died
    ├── LeaseLostError                  this writer was taken over and may not publish
    ├── BudgetExceededError             the cap on calls or cost was reached
    ├── InvalidIndexError               the tree violates an invariant
    ├── StoreError                      whoever runs the store must act
    │   ├── StoreUnavailableError  transient
    │   ├── StoreFullError              no space left, or the store is read-only
    │   ├── StoreVersionError           written by a newer Overstory
    │   ├── StoreDamagedError           a file or an answer that can't be right
    │   └── RowsRejectedError           the store refused some rows; carries their keys
    └── ModelError                      whoever runs or pays for the model must act
        ├── ModelUnavailableError  transient  no answer, 5xx, time-out
        ├── ModelOverloadedError   transient  429; carries `retry_after_seconds`
        ├── ModelAccessError            wrong key, no right, no credit
        ├── ModelNotFoundError          no model of that name
        ├── ModelInputError             the request is malformed
        │   └── ModelInputTooLongError  it does not fit the model's window
        ├── ModelRefusedError           the provider declines this content
        └── ModelOutputError  transient the answer can't be used

`TransientError` marks those where the same call may succeed later.
"""

import copyreg
import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID


class OverstoryError(Exception):
    """Root of the tree; catch this to catch everything that Overstory raises on purpose.

    All can travel between processes, with their message and their data.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again without `__init__`, whose arguments are not the message."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]  # pickle's own


class TransientError(OverstoryError):
    """Another try, unchanged, may succeed."""


class UsageError(OverstoryError, ValueError):
    """The call itself is wrong: change it."""


class InvalidOptionError(UsageError):
    def __init__(self, option: str, value: object, expected: str) -> None:
        self.option, self.value, self.expected = option, value, expected
        super().__init__(f"{option}={value!r} is not allowed: {expected}.")


class InvalidQueryError(UsageError):
    """A question, or how it is asked, makes no sense; the message says what to change."""


class ContextBudgetError(InvalidQueryError):
    def __init__(self, dataset: str, budget_tokens: int, least_tokens: int) -> None:
        self.dataset, self.budget_tokens, self.least_tokens = dataset, budget_tokens, least_tokens
        super().__init__(
            f"A budget of {budget_tokens} token{'s' * (budget_tokens != 1)} has no room for anything that was found in {dataset!r}: "
            f"give at least {least_tokens} for this question."
        )


class DatasetNotFoundError(UsageError):
    def __init__(self, name: str, nearest: str | None = None) -> None:
        self.name, self.nearest = name, nearest
        hint = f" Did you mean {nearest!r}?" if nearest else " `overstory status` lists the datasets that exist."
        super().__init__(f"There is no dataset {name!r}.{hint}")


class DocumentNotFoundError(UsageError):
    def __init__(self, document: str, dataset: str, nearest: str | None = None) -> None:
        self.document, self.dataset, self.nearest = document, dataset, nearest
        listing = f"`overstory documents --dataset {shlex.quote(dataset)}` lists them."
        hint = f"Did you mean {nearest!r}? {listing}" if nearest else listing
        super().__init__(f"The dataset {dataset!r} has no document {document!r}. {hint}")


class GenerationNotFoundError(UsageError):
    def __init__(self, generation: int, available: Sequence[int]) -> None:
        self.generation, self.available = generation, tuple(available)
        known = ", ".join(map(str, available)) or "none"
        super().__init__(f"Generation {generation} is not kept; available: {known}.")


class IndexMismatchError(UsageError):
    def __init__(self, dataset: str, stored: str, asked: str) -> None:
        self.dataset, self.stored, self.asked = dataset, stored, asked
        super().__init__(
            f"The index of {dataset!r} was built with {stored}, it can't be extended with {asked}: "
            "pass rebuild=True (`overstory rebuild`) to build it anew, or keep the stored options."
        )


class PermissionDeniedError(UsageError):
    def __init__(self, action: str, dataset: str) -> None:
        self.action, self.dataset = action, dataset
        super().__init__(f"This user may not {action} the dataset {dataset!r}: its owner can grant it.")


class ConfigurationError(OverstoryError):
    """A setting is wrong or missing; the message names it and the way out."""


class MissingPackageError(ConfigurationError):
    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{purpose} needs the package {package!r}: pip install 'overstory[{extra}]'.")


class EmbeddingMismatchError(ConfigurationError):
    def __init__(self, dataset: str, stored: str, stored_dimensions: int, given: str, given_dimensions: int) -> None:
        self.dataset, self.stored, self.given = dataset, stored, given
        self.stored_dimensions, self.given_dimensions = stored_dimensions, given_dimensions
        super().__init__(
            f"The dataset {dataset!r} holds vectors of {stored!r} ({stored_dimensions} dimensions), the settings say "
            f"{given!r} ({given_dimensions}). Set EMBEDDING_MODEL={stored} and EMBEDDING_DIMENSIONS={stored_dimensions}, "
            "or remember the documents again in a new dataset."
        )


class NoDataError(OverstoryError):
    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        super().__init__(f"The dataset {dataset!r} holds no documents yet: `remember` some first.")


class UnreadableSourceError(OverstoryError):
    def __init__(self, source: str, reason: str) -> None:
        self.source, self.reason = source, reason
        super().__init__(f"{source}: {reason}")


class DatasetBusyError(TransientError):
    def __init__(self, dataset: str, holder: str, since: datetime, until: datetime) -> None:
        self.dataset, self.holder, self.since, self.until = dataset, holder, since, until
        super().__init__(
            f"The dataset {dataset!r} is being written by {holder} since {since:%Y-%m-%d %H:%M:%S} UTC, busy until "
            f"{until:%H:%M:%S} UTC unless renewed: try again then, or pass wait_seconds (--wait)."
        )


class OrchestratorUnavailableError(TransientError):
    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(
            f"The Prefect server of PREFECT_API_URL={url} does not answer ({reason}); nothing was begun. Start it, or set "
            "OVERSTORY_ORCHESTRATE=false to run without it, or OVERSTORY_ORCHESTRATE_FALLBACK=true to do so when it is down."
        )


class WorkerLostError(TransientError):
    def __init__(self, batch: str, reason: str) -> None:
        self.batch, self.reason = batch, reason
        super().__init__(
            f"The processes that worked on {batch!r} died ({reason}). What they had finished is kept: run it again, with "
            "fewer of them (OVERSTORY_TASK_RUNNER_WORKERS) if memory was short."
        )


class LeaseLostError(OverstoryError):
    def __init__(self, dataset: str, holder: str) -> None:
        self.dataset, self.holder = dataset, holder
        super().__init__(
            f"{holder} no longer holds the dataset {dataset!r}: another writer took over, nothing was published."
        )


class BudgetExceededError(OverstoryError):
    def __init__(self, cap: str, done: int) -> None:
        self.cap, self.done = cap, done
        super().__init__(f"Stopped at {cap} after {done} {'call' if done == 1 else 'calls'}.")


class InvalidIndexError(OverstoryError):
    def __init__(self, dataset: str, violations: Sequence[str]) -> None:
        self.dataset, self.violations = dataset, tuple(violations)
        more = f" (and {len(violations) - 3} more)" if len(violations) > 3 else ""
        super().__init__(f"The index of {dataset!r} is not sound: {'; '.join(violations[:3])}{more}.")


class StoreError(OverstoryError):
    """The store did not do what was asked."""


class StoreUnavailableError(StoreError, TransientError):
    """The store does not answer, or is locked."""


class StoreFullError(StoreError):
    """No space is left, or the store may only be read."""


class StoreVersionError(StoreError):
    def __init__(self, place: str, found: int, supported: int) -> None:
        self.place, self.found, self.supported = place, found, supported
        super().__init__(
            f"{place} has schema version {found}, this Overstory knows up to {supported}: upgrade Overstory."
        )


class StoreDamagedError(StoreError):
    """Stored bytes can't be what was written."""


class RowsRejectedError(StoreError):
    def __init__(self, kind: str, keys: Sequence[UUID], reason: str) -> None:
        self.kind, self.keys, self.reason = kind, tuple(keys), reason
        super().__init__(f"The store refused {len(keys)} {kind} rows ({', '.join(map(str, keys[:3]))}…): {reason}")


class ModelError(OverstoryError):
    """The model service did not do what was asked; `model` names it."""

    def __init__(self, model: str, message: str) -> None:
        self.model = model
        super().__init__(f"{model}: {message}")


class ModelUnavailableError(ModelError, TransientError):
    """No connection, a time-out, or a fault on the service's side."""

    def __init__(self, model: str, message: str) -> None:
        way_out = "is the service up (LLM_ENDPOINT, EMBEDDING_ENDPOINT)? What is finished is kept for another try"
        super().__init__(model, f"{message} - {way_out}")


class ModelOverloadedError(ModelError, TransientError):
    """The service has too much to do; `retry_after_seconds` is how long it asks to wait, None when it does not say."""

    def __init__(self, model: str, message: str, retry_after_seconds: float | None = None) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(model, message)


class ModelAccessError(ModelError):
    """The key is missing or wrong, or the account may not use the model."""

    def __init__(self, model: str, message: str) -> None:
        way_out = "check LLM_API_KEY (EMBEDDING_API_KEY for vectors), and that the account may use this model"
        super().__init__(model, f"{message} - {way_out}")


class ModelNotFoundError(ModelError):
    """The service knows no model of this name."""

    def __init__(self, model: str, message: str) -> None:
        super().__init__(model, f"{message} - check LLM_MODEL (EMBEDDING_MODEL for vectors) and the endpoint")


class ModelInputError(ModelError):
    """The service refused the request as malformed, or as too long, where it does not say so; another try will not help."""


class ModelInputTooLongError(ModelInputError):
    """The request does not fit the model's window; another try with the same text will not help."""


class ModelRefusedError(ModelError):
    """The provider's content rules decline this text; another try will not help."""


class ModelOutputError(ModelError, TransientError):
    """The answer is empty, cut off or not of the form that was asked for."""

    def __init__(self, model: str, reason: str, answer: str = "") -> None:
        self.reason, self.answer = reason, answer
        super().__init__(model, f"unusable answer: {reason}")
