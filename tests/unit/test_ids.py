"""Which things are one and the same."""

from uuid import RFC_4122, UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory import ids

DATASET = UUID(int=5)


@pytest.mark.parametrize(
    "name", ["ACME Corp", "Acme corp.", "ACME  Corp", " acme\ncorp ", "“ACME Corp”", "ＡＣＭＥ Corp"]
)
def test_spellings_of_one_name_are_one_entity(name: str) -> None:
    assert ids.entity_id(DATASET, name) == ids.entity_id(DATASET, "ACME Corp")


@pytest.mark.parametrize("name", ["ACME Corps", "ACME", "Corp ACME", "A.C.M.E. Corp"])
def test_another_name_is_another_entity(name: str) -> None:
    assert ids.entity_id(DATASET, name) != ids.entity_id(DATASET, "ACME Corp")


@pytest.mark.parametrize("name", ["...", "“”", "—"])
def test_a_name_of_marks_alone_keeps_an_id_of_its_own(name: str) -> None:
    others = {ids.entity_id(DATASET, other) for other in ("...", "“”", "—") if other != name}

    assert ids.entity_id(DATASET, name) not in others


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.uuids() | st.integers(), max_size=4))
def test_an_id_is_the_uuid_of_version_5_of_its_parts(parts: list[str | UUID | int]) -> None:
    made = ids.make_id(*parts)

    assert made == uuid5(ids.NAMESPACE, "\x1f".join(map(str, parts)))
    assert (made.version, made.variant) == (5, RFC_4122)


@given(st.uuids())
def test_bytes_become_the_id_that_they_are_of(known: UUID) -> None:
    read = ids.uuid_of(known.bytes)

    assert read == known
    assert (str(read), hash(read), read.is_safe) == (str(known), hash(known), known.is_safe)
