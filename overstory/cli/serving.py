"""`overstory serve` and its keys."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overstory.cli import jsonforms
from overstory.cli.options import Json
from overstory.cli.performing import fail
from overstory.cli.terminal import messages, one_line, output
from overstory.errors import ConfigurationError, MissingPackageError, OverstoryError
from overstory.serve.options import (
    DEFAULT_BODY_MEGABYTES,
    DEFAULT_HOST,
    DEFAULT_PORT,
    DEFAULT_REQUESTS_PER_MINUTE,
    MEGABYTE,
    ServeOptions,
    is_loopback,
)

if TYPE_CHECKING:
    from overstory.serve.keys import KeyRing

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
keys = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(keys, name="keys", help="Keys of the users who may ask over HTTP.")


@app.callback()
def serve(
    context: typer.Context,
    host: Annotated[
        str, typer.Option(help="Where to listen; other machines reach anything but loopback.")
    ] = DEFAULT_HOST,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes a free one.")] = DEFAULT_PORT,
    require_key: Annotated[bool, typer.Option("--require-key", help="Ask for a key on loopback too.")] = False,
    max_body_mb: Annotated[
        int, typer.Option(metavar="MB", min=1, help="The largest request.")
    ] = DEFAULT_BODY_MEGABYTES,
    requests_per_minute: Annotated[
        int, typer.Option(metavar="N", min=1, help="Of one user.")
    ] = DEFAULT_REQUESTS_PER_MINUTE,
    json: Json = False,
) -> None:
    """Open a page that shows the index, and answer over HTTP.

    Without a key only this machine is answered. For others, make keys with `overstory serve keys add USER`.
    """
    if context.invoked_subcommand is not None:
        return
    try:
        options = ServeOptions(
            home=_home(),
            host=host,
            port=port,
            require_key=require_key,
            max_body_bytes=max_body_mb * MEGABYTE,
            requests_per_minute=requests_per_minute,
        )
        _run(options, json=json)
    except OverstoryError as error:
        fail("serve", error, json=json)


@keys.command()
def add(
    user: Annotated[str, typer.Argument(metavar="USER", help="The user whose datasets the key opens.")],
    json: Json = False,
) -> None:
    """Make a key, and print it: it is not shown again."""
    try:
        key = _ring().add(user)
    except OverstoryError as error:
        fail("serve keys add", error, json=json)
    if json:
        jsonforms.write("serve keys add", {"user": user, "key": key})
    else:
        typer.echo(key)


@keys.command(name="list")
def list_(json: Json = False) -> None:
    """List the keys by id; the keys themselves are not kept."""
    try:
        found = _ring().entries()
    except OverstoryError as error:
        fail("serve keys list", error, json=json)
    if json:
        shown = [{"id": key.id, "user": key.user, "created_at": key.created_at} for key in found]
        jsonforms.write("serve keys list", {"keys": shown})
        return
    for key in found:
        typer.echo(f"{key.id}  {key.created_at:%Y-%m-%d %H:%M} UTC  {one_line(key.user)}")


@keys.command()
def remove(
    key: Annotated[str, typer.Argument(metavar="ID", help="Of `overstory serve keys list`.")], json: Json = False
) -> None:
    """Take a key back; it stops working at once."""
    try:
        _ring().remove(key)
    except OverstoryError as error:
        fail("serve keys remove", error, json=json)
    if json:
        jsonforms.write("serve keys remove", {"id": key})
    else:
        typer.echo(f"Removed: {one_line(key)}.")


def _run(options: ServeOptions, *, json: bool) -> None:
    try:
        from overstory.serve.running import run
    except ModuleNotFoundError as error:
        raise MissingPackageError(error.name or "fastapi", "serve", "`overstory serve`") from error
    if options.asks_for_key and not _ring().entries():
        raise ConfigurationError(
            "There is no key yet, and others may reach this: `overstory serve keys add USER` first."
        )
    if not is_loopback(options.host):
        messages().print("Requests are not encrypted: put a proxy with TLS in front.", soft_wrap=True)

    def ready(url: str) -> None:
        if json:
            jsonforms.write("serve", {"url": url, "key_required": options.asks_for_key})
        else:
            output().print(f"Overstory is at {url} (Ctrl-C stops it)", soft_wrap=True)

    run(options, ready)


def _ring() -> "KeyRing":
    from overstory.serve.keys import KeyRing

    return KeyRing(ServeOptions(home=_home()).keys_file)


def _home() -> Path:
    from overstory.settings import Settings

    return Settings.from_environment(os.environ).store.home.expanduser()
