"""What OVERSTORY_STORE_URL may say."""

import pytest

from overstory.errors import ConfigurationError
from overstory.settings import StoreSettings
from overstory.stores.opening import open_store
from overstory.stores.weaviate import WeaviateStore
from overstory.stores.weaviate.address import parse_address


def test_a_host_alone_has_the_usual_ports():
    address = parse_address("weaviate://localhost")

    assert (address.host, address.port, address.grpc_host, address.grpc_port) == ("localhost", 8080, "localhost", 50051)
    assert (address.secure, address.prefix, address.index) == (False, "Overstory", "flat")


def test_every_option_is_read():
    address = parse_address("weaviates://db.example:9000?grpc_host=g.example&grpc_port=9001&prefix=Team1&index=hnsw")

    assert (address.host, address.port, address.secure) == ("db.example", 9000, True)
    assert (address.grpc_host, address.grpc_port) == ("g.example", 9001)
    assert (address.prefix, address.index) == ("Team1", "hnsw")


@pytest.mark.parametrize(
    ("host", "grpc_host"),
    [
        ("abc.c0.europe-west3.gcp.weaviate.cloud", "grpc-abc.c0.europe-west3.gcp.weaviate.cloud"),
        ("abc.weaviate.network", "abc.grpc.weaviate.network"),
    ],
)
def test_the_cloud_serves_grpc_under_another_host(host, grpc_host):
    address = parse_address(f"weaviates://{host}")

    assert (address.port, address.grpc_host, address.grpc_port) == (443, grpc_host, 443)


def test_an_address_of_version_six_is_read():
    address = parse_address("weaviate://[::1]:8081")

    assert (address.host, address.port) == ("::1", 8081)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("weaviate://", "host"),
        ("weaviate://localhost?grpcport=1", "grpcport"),
        ("weaviate://localhost?grpc_port=many", "many"),
        ("weaviate://localhost:99999", "99999"),
        ("weaviate://localhost:8080?grpc_port=8080", "grpc_port=8080"),
        ("weaviate://localhost?prefix=my_own", "my_own"),
        ("weaviate://localhost?index=dynamic", "dynamic"),
        ("weaviate://user:secret@localhost", "WEAVIATE_API_KEY"),
    ],
)
def test_a_url_that_makes_no_sense_is_refused_with_the_reason(url, named):
    with pytest.raises(ConfigurationError, match=named) as caught:
        parse_address(url)

    assert "secret" not in str(caught.value)


def test_the_settings_name_this_store():
    store = open_store(StoreSettings(url="weaviate://localhost"))

    assert isinstance(store, WeaviateStore)
