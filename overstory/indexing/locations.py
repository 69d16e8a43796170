"""What a caller names: whether a string is a text or a place, the key of a place, and the files in a folder."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from overstory.indexing import remote
from overstory.indexing.cleaning import clean, clean_name
from overstory.indexing.sources import MAX_SOURCE_CHARACTERS, SkippedSource, text_source

_SEVERAL_WORDS = re.compile(r"[\s，。！？；：、]")
_FILE_NAME = re.compile(
    r".+\.(?:txt|text|md|markdown|rst|log|tex|srt|html?|xhtml|xml|pdf|docx?|pptx?|xlsx?|odt|rtf|epub|csv|tsv|jsonl?|"
    r"ndjson|ya?ml|toml|ini|ipynb|eml|mbox|py|sql|zip|gz|png|jpe?g)",
    re.IGNORECASE,
)


def is_text(given: str) -> bool:
    """Whether a string is a text itself, rather than a path or URL.

    It is a place when it names a file or folder that exists, or is one word that is a URL, holds a slash or ends
    like a file name. Anything else is text.
    """
    if "\n" in given or len(given) > MAX_SOURCE_CHARACTERS:
        return True
    if _SEVERAL_WORDS.search(given) or not given:
        return not _exists(given)
    looks_like_one = remote.is_url(given) or "/" in given or "\\" in given or _FILE_NAME.fullmatch(given)
    return not (looks_like_one or _exists(given))


def source_key(given: str | os.PathLike[str]) -> str:
    """The key under which `remember` keeps what is given so.

    Of a file its absolute path, however it was reached: alone, in a folder, from another working folder, so that
    one file is one document and two files never are. Of a URL itself without user and password. Of a text a hash.
    """
    if isinstance(given, str) and is_text(given):
        return text_source(clean(given))
    path = local_path(given)
    return remote.without_credentials(str(given)) if path is None else path_key(path)


def local_path(given: str | os.PathLike[str]) -> Path | None:
    """The absolute path, links kept as they are; None when it is a URL of elsewhere."""
    if isinstance(given, str) and remote.is_url(given):
        return Path(url2pathname(urlsplit(given).path)) if _is_file_url(given) else None
    return Path(os.path.abspath(os.path.expanduser(os.fspath(given))))


def path_key(path: Path) -> str:
    return clean_name(path.as_posix())


def files_in(folder: Path) -> Iterator[Path | SkippedSource]:
    """All files of a folder and its folders, sorted; hidden ones are left out, links lead nowhere else."""
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        reason = _why_not_followed(path, folder)
        if reason:
            yield SkippedSource(path_key(path), reason)
        elif not path.is_dir():
            yield path
        else:
            try:
                visible = [entry for entry in os.listdir(path) if not entry.startswith(".")]
            except OSError as error:
                yield SkippedSource(path_key(path), reason_of(error))
            else:
                waiting.extend(path / name for name in sorted(visible, reverse=True))


def reason_of(error: OSError) -> str:
    """An operating system's error in words, without the path."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    return (error.strerror or str(error) or type(error).__name__).lower()


def _why_not_followed(path: Path, folder: Path) -> str:
    if path == folder or not path.is_symlink():
        return ""
    if path.is_dir():
        return "a link to a folder: give that folder itself"
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (RuntimeError, OSError):  # which of them depends on the version of Python
        return "a link that leads to itself"
    if not inside:
        return "a link that leads out of the folder: give its target itself"
    return ""


def _is_file_url(url: str) -> bool:
    return url.lower().startswith("file://")


def _exists(given: str) -> bool:
    try:
        return bool(given.strip()) and os.path.exists(os.path.expanduser(given))
    except ValueError:  # a NUL within
        return False
