"""Which server, from OVERSTORY_STORE_URL."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from overstory.errors import ConfigurationError

FLAT, HNSW = "flat", "hnsw"
_CLOUD = (".weaviate.cloud", ".weaviate.network")
_OPTIONS = ("grpc_host", "grpc_port", "index", "prefix")
_PREFIX = re.compile(r"[A-Z][A-Za-z0-9]{0,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server listens, and what Overstory calls its collections there."""

    host: str
    port: int
    secure: bool
    grpc_host: str
    grpc_port: int
    prefix: str = "Overstory"
    index: str = FLAT

    @property
    def place(self) -> str:
        """For people; holds no key."""
        return f"weaviate{'s' * self.secure}://{self.host}:{self.port}"


def parse_address(url: str) -> Address:
    """Read a store URL.

    Raises:
        ConfigurationError: it can't be a server's.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise _wrong(f"{unknown[0]!r} is no option, only {', '.join(_OPTIONS)}")
    if not parts.hostname:
        raise _wrong("the host is missing")
    if parts.username or parts.password:
        raise _wrong("a key belongs into WEAVIATE_API_KEY, not into the URL")
    secure, cloud = parts.scheme == "weaviates", parts.hostname.endswith(_CLOUD)
    address = Address(
        host=parts.hostname,
        port=_port(parts.netloc) or (443 if secure else 8080),
        secure=secure,
        grpc_host=options.get("grpc_host") or (_cloud_grpc(parts.hostname) if cloud else parts.hostname),
        grpc_port=_number(options.get("grpc_port")) or (443 if cloud else 50051),
        prefix=_checked_prefix(options.get("prefix", "Overstory")),
        index=_checked_index(options.get("index", FLAT)),
    )
    if (address.host, address.port) == (address.grpc_host, address.grpc_port):
        raise _wrong(f"grpc_port={address.grpc_port} is the port of HTTP; gRPC has another one")
    return address


def _cloud_grpc(host: str) -> str:
    """Weaviate Cloud serves gRPC under a host of its own."""
    name, _, domain = host.partition(".")
    return f"{name}.grpc.{domain}" if domain == "weaviate.network" else f"grpc-{host}"


def _port(netloc: str) -> int | None:
    _, _, port = netloc.rpartition("]")[2].rpartition(":")
    return _number(port) if ":" in netloc.rpartition("]")[2] else None


def _number(text: str | None) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise _wrong(f"{text!r} is no port")
    return int(text)


def _checked_prefix(prefix: str) -> str:
    if not _PREFIX.fullmatch(prefix):
        raise _wrong(f"prefix={prefix!r}: a capital letter, then letters and digits")
    return prefix


def _checked_index(index: str) -> str:
    if index not in (FLAT, HNSW):
        raise _wrong(f"index={index!r}: {FLAT} or {HNSW}")
    return index


def _wrong(reason: str) -> ConfigurationError:
    return ConfigurationError(f"OVERSTORY_STORE_URL: {reason}. It looks like weaviate://HOST:8080?grpc_port=50051.")
