"""Which things are one and the same."""

from uuid import UUID

import pytest

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
