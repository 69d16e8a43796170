"""How a server is run."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8321
DEFAULT_BODY_MEGABYTES = 64
DEFAULT_REQUESTS_PER_MINUTE = 1_200
MEGABYTE = 1_000_000
_LOOPBACK_NAMES = ("localhost", "localhost.localdomain")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    home: Path
    """Where the keys are kept, and exports while they are sent."""
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    require_key: bool = False
    """Ask for a key on loopback too."""
    max_body_bytes: int = DEFAULT_BODY_MEGABYTES * MEGABYTE
    requests_per_minute: int = DEFAULT_REQUESTS_PER_MINUTE
    """Of one user, or of one address that shows no key."""

    @property
    def keys_file(self) -> Path:
        return self.home / "serve" / "keys.json"

    @property
    def exports_folder(self) -> Path:
        return self.home / "serve" / "exports"

    @property
    def asks_for_key(self) -> bool:
        return self.require_key or not is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host: 127.0.0.0/8, ::1 and their name."""
    if host.lower() in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
