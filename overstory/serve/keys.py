"""Keys of users, kept as hashes in one file that only its owner may read.

A key is `ovs_ID_SECRET`: the id finds its entry, the secret has 256 random bits, so that one round of SHA-256 is
enough to keep it. It is shown once, when it is made.
"""

import hashlib
import hmac
import secrets
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from overstory import replacing
from overstory.errors import ConfigurationError, InvalidOptionError

_PREFIX = "ovs"
_MAX_USER_CHARACTERS = 200


class StoredKey(BaseModel):
    """What is kept of a key."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    user: str
    sha256: str
    created_at: datetime


_FILE = TypeAdapter(list[StoredKey])


class KeyRing:
    """The keys in a file; read again when it has changed, so that a key that was removed stops working at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, StoredKey] = {}

    def entries(self) -> list[StoredKey]:
        """All keys, the oldest first.

        Raises:
            ConfigurationError: the file can't be read.
        """
        self._refresh()
        return sorted(self._keys.values(), key=lambda key: key.created_at)

    def add(self, user: str) -> str:
        """A new key for a user; the whole key, which is shown only now."""
        if not user.strip() or not user.isprintable() or len(user) > _MAX_USER_CHARACTERS:
            raise InvalidOptionError("user", user[:40], f"a name of 1 to {_MAX_USER_CHARACTERS} visible characters")
        key_id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        stored = StoredKey(id=key_id, user=user, sha256=_hash(secret), created_at=datetime.now(UTC))
        self._write([*self.entries(), stored])
        return f"{_PREFIX}_{key_id}_{secret}"

    def remove(self, key_id: str) -> None:
        """Take a key back.

        Raises:
            InvalidOptionError: there is none of this id.
        """
        known = self.entries()
        kept = [key for key in known if key.id != key_id]
        if len(kept) == len(known):
            raise InvalidOptionError("key", key_id, "`overstory serve keys list` shows the ids that exist")
        self._write(kept)

    def user_of(self, key: str) -> str | None:
        """Whose key this is; None when it is nobody's."""
        self._refresh()
        prefix, _, rest = key.partition("_")
        key_id, _, secret = rest.partition("_")
        stored = self._keys.get(key_id)
        expected = stored.sha256 if stored else _hash("")
        same = hmac.compare_digest(_hash(secret), expected)
        return stored.user if stored and same and prefix == _PREFIX else None

    def _refresh(self) -> None:
        try:
            found = self._path.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp != self._stamp:
                self._keys = {key.id: key for key in _FILE.validate_json(self._path.read_bytes())}
                self._stamp = stamp
        except FileNotFoundError:
            self._keys, self._stamp = {}, None
        except (OSError, ValidationError) as error:
            raise ConfigurationError(f"The keys in {self._path} can't be read: repair or remove the file.") from error

    def _write(self, keys: list[StoredKey]) -> None:
        try:
            replacing.replace_file(self._path, _FILE.dump_json(keys, indent=2))
        except OSError as error:
            raise ConfigurationError(f"The keys can't be written to {self._path}: {error.strerror}.") from error


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
