"""Files behind a URL, by fsspec: `s3://…`, `gs://…`, `https://…`, `memory://…`, and folders where there are any."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]*://\S+")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_PACKAGES = {
    **dict.fromkeys(("http", "https"), "requests aiohttp"),
    "s3": "s3fs",
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "az"), "adlfs"),
}
"""What fsspec needs beside itself."""
_WITHOUT_FOLDERS = ("http://", "https://")
"""Asked whether an address is a folder, fsspec would fetch the page and take its links for files."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    source: str
    """Its URL without user and password."""
    open: Callable[[], IO[bytes]]


def is_url(text: str) -> bool:
    return _URL.fullmatch(text) is not None


def without_credentials(text: str, instead: str = "") -> str:
    """A URL, or a text that holds some, without users and passwords; with something in the place of each."""
    return _CREDENTIALS.sub(instead, text)


def files(url: str) -> Iterator[RemoteFile]:
    """The file at a URL, or all files below it in sorted order, hidden ones left out."""
    import fsspec

    try:
        filesystem, path = fsspec.url_to_fs(url)
    except ImportError as error:
        packages = _PACKAGES.get(url.partition(":")[0].lower())
        raise ImportError(f"{error}: pip install {packages}" if packages else str(error)) from error
    source = without_credentials(url)
    if url.startswith(_WITHOUT_FOLDERS) or not filesystem.isdir(path):
        yield RemoteFile(source, partial(filesystem.open, path, "rb"))
        return
    for name in sorted(filesystem.find(path)):
        below = name.removeprefix(path).lstrip("/")
        if not any(part.startswith(".") for part in below.split("/")):
            yield RemoteFile(f"{source.rstrip('/')}/{below}", partial(filesystem.open, name, "rb"))
