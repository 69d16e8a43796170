"""Every store has the methods of the contract, with its parameters."""

import inspect

import pytest

from overstory.stores import contract
from overstory.stores.embedded import EmbeddedStore
from overstory.stores.embedded.tenant import EmbeddedTenant
from overstory.stores.memory import MemoryStore, MemoryTenant
from overstory.stores.weaviate import WeaviateStore
from overstory.stores.weaviate.tenant import WeaviateTenant

CLASSES = [
    (contract.Store, MemoryStore),
    (contract.Store, EmbeddedStore),
    (contract.Store, WeaviateStore),
    (contract.Tenant, MemoryTenant),
    (contract.Tenant, EmbeddedTenant),
    (contract.Tenant, WeaviateTenant),
]


def _methods(protocol):
    return [name for name, member in vars(protocol).items() if inspect.isfunction(member) and not name.startswith("_")]


def _shape(function):
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


def _returned(owner, name):
    return inspect.signature(getattr(owner, name)).return_annotation


@pytest.mark.parametrize(
    ("protocol", "implementation", "name"),
    [(protocol, kept, name) for protocol, kept in CLASSES for name in _methods(protocol)],
)
def test_a_method_takes_what_the_contract_says(protocol, implementation, name):
    promised, kept = getattr(protocol, name), getattr(implementation, name)

    assert _shape(kept) == _shape(promised)
    assert inspect.iscoroutinefunction(kept) == inspect.iscoroutinefunction(promised)


@pytest.mark.parametrize(("protocol", "implementation"), CLASSES)
def test_a_store_offers_nothing_beyond_the_contract(protocol, implementation):
    public = {name for name in vars(implementation) if not name.startswith("_")}

    assert public <= {name for name in vars(protocol) if not name.startswith("_")}


@pytest.mark.parametrize(("protocol", "implementation"), CLASSES)
def test_a_store_says_at_least_what_the_contract_returns(protocol, implementation):
    promised = {name: str(_returned(protocol, name)) for name in _methods(protocol)}
    kept = {name: str(_returned(implementation, name)) for name in promised}

    # A store names its own class of tenant, which keeps the promise of a tenant as the tests above show.
    assert {name for name in promised if kept[name] != promised[name]} <= {"tenant"}
