"""Every error of ours can travel between processes."""

import inspect
import pickle
from datetime import UTC, datetime
from uuid import UUID

import pytest

from overstory import errors
from overstory.errors import OverstoryError
from overstory.indexing.extracting import ExtractReport, ExtractStoppedError
from overstory.indexing.summarizing import BatchReport, BatchStoppedError

CLASSES = [c for c in vars(errors).values() if inspect.isclass(c) and issubclass(c, OverstoryError)]
VALUES: dict[object, object] = {
    str: "some text",
    int: 7,
    float: 2.5,
    object: "a value",
    datetime: datetime(2026, 5, 3, 12, tzinfo=UTC),
}


def value_for(annotation: object) -> object:
    """Something that a parameter of this type takes."""
    if annotation in VALUES:
        return VALUES[annotation]
    kinds = str(annotation)
    if "Sequence" in kinds:
        return (
            [UUID(int=i) for i in range(5)] if "UUID" in kinds else [1, 2, 3, 4, 5] if "int" in kinds else list("abcde")
        )
    return 2.5 if "float" in kinds else "another text"


def example(kind: type[OverstoryError]) -> OverstoryError:
    if kind.__init__ is OverstoryError.__init__:
        return kind("what went wrong")
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return kind(*(value_for(p.annotation) for p in parameters))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda c: c.__name__)
def test_an_error_keeps_message_data_and_notes_between_processes(kind: type[OverstoryError]):
    error = example(kind)
    error.add_note("12 of 40 areas are written")

    there = pickle.loads(pickle.dumps(error))

    assert type(there) is kind
    assert str(there) == str(error)
    assert vars(there) == vars(error)


@pytest.mark.parametrize(
    ("kind", "report"),
    [(BatchStoppedError, BatchReport(level=2, written=3)), (ExtractStoppedError, ExtractReport(chunks=3))],
)
def test_what_stopped_a_batch_travels_with_it(kind, report):
    stopped = kind(report, errors.BudgetExceededError("max_calls=9", 9))

    there = pickle.loads(pickle.dumps(stopped))

    assert there.report == stopped.report
    assert isinstance(there.reason, errors.BudgetExceededError)
    assert (str(there), there.reason.done) == (str(stopped), 9)
