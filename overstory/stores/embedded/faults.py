"""Errors of SQLite and of the file system, as what the reader of the message has to do about them."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from overstory.errors import StoreDamagedError, StoreError, StoreFullError, StoreUnavailableError

_FULL: tuple[type[apsw.Error], ...] = (apsw.FullError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)
_DAMAGED: tuple[type[apsw.Error], ...] = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.FormatError,
    apsw.SchemaChangeError,
    apsw.MismatchError,
)
_UNAVAILABLE: tuple[type[apsw.Error], ...] = (
    apsw.BusyError,
    apsw.LockedError,
    apsw.ProtocolError,
    apsw.InterruptError,
    apsw.IOError,
    apsw.CantOpenError,
    apsw.NoMemError,
)
_UNWRITTEN = {
    apsw.SQLITE_IOERR_WRITE,
    apsw.SQLITE_IOERR_FSYNC,
    apsw.SQLITE_IOERR_DIR_FSYNC,
    apsw.SQLITE_IOERR_TRUNCATE,
    apsw.SQLITE_IOERR_SHMOPEN,
    apsw.SQLITE_IOERR_SHMSIZE,
}
"""Of `IOError`: what a full disk, a quota or a limit of the process ends in when SQLite takes it for no full disk."""
_NO_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


@contextmanager
def translated(place: Path) -> Iterator[None]:
    """Let errors of SQLite and of files leave as store errors that name the place, with their cause."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise fault(error, place) from error


def fault(error: apsw.Error | OSError, place: Path) -> StoreError:
    """The store error that says the same."""
    if isinstance(error, OSError):
        return _of_files(error, place)
    if isinstance(error, _FULL) or getattr(error, "extendedresult", 0) in _UNWRITTEN:
        return StoreFullError(f"{place} can't be written ({error}): free space, or make it writable.")
    if isinstance(error, _DAMAGED):
        return StoreDamagedError(f"{place} is damaged or no file of Overstory ({error}): restore it from a copy.")
    if isinstance(error, apsw.CantOpenError) and place.exists() and not os.access(place, os.R_OK):
        return StoreUnavailableError(f"{place} can't be read ({error}): give this user the right to read it.")
    if isinstance(error, apsw.CantOpenError) and place.exists() and not _writable(place):
        return StoreFullError(
            f"{place} can't be opened ({error}): to read it, SQLite writes beside it too. Make the folder writable, or "
            "copy it to where it is."
        )
    if isinstance(error, _UNAVAILABLE):
        return StoreUnavailableError(f"{place} can't be used now ({error}): another process may hold it, try again.")
    return StoreError(f"{place}: {type(error).__name__}: {error}")


def _writable(place: Path) -> bool:
    return os.access(place, os.W_OK) and os.access(place.parent, os.W_OK)


def _of_files(error: OSError, place: Path) -> StoreError:
    if error.errno in _NO_WRITING:
        return StoreFullError(f"{place} can't be written ({error.strerror}): free space, or make it writable.")
    return StoreUnavailableError(f"{place} can't be used now ({error.strerror}).")
