"""Every block of Python and every command of the documentation runs, page by page, as a reader would run them.

A page has a folder of its own with `notes/`, and the datasets `ferry` and `northstar`. What can't run here is in
`LEFT_OUT`, each with its reason.
"""

import ast
import re
import shlex
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import Result
from typer.testing import CliRunner

import overstory
from overstory.cli.app import app
from overstory.cli.configuring import list_settings
from overstory.demo import read_notes
from overstory.settings import Settings
from tests.docs.blocks import PAGES, ROOT, blocks

LEFT_OUT = {
    r"(\S*/)?pip install|python3 -m venv|source \S+activate$": "it installs from a registry; `make` and the packaging tests do",
    r"make ": "this suite is one of its targets; that each exists is tested",
    r"prefect |python deployments/": "it needs a Prefect server; tests/prefect runs it",
    r"overstory serve( --host \S+)?$|overstory mcp": "it stays running; tests/serve starts it",
    r"export ": "it is for a service that is not here; that each setting exists is tested",
    r"curl ": "it needs a server with a key; tests/serve asks the same",
    r"python benchmarks/": "it takes minutes; that the program exists is tested",
    r"python -m overstory.stores.weaviate.janitor": "it needs a Weaviate server; tests/weaviate runs it",
}
RUN_ELSEWHERE = {
    "weaviate.md": "it needs a Weaviate server with roles; tests/weaviate does the same on one",
    "operating.md": "it needs a Prefect server with a worker; tests/prefect does the same on one",
    "watching.md": "it sets the tracer of the whole process; the tests of traces do so in one of their own",
}
"""Pages whose Python, or commands on a store, are run elsewhere."""
IN_PLACE = {"https://example.org/report.pdf": "notes/2026-01-15-first-budget.md"}
"""What stands for a place on the internet."""
PYTHON = [page for page in PAGES if blocks(page, "python")]
COMMANDS = [page for page in PAGES if blocks(page, "sh")]
NOT_HERE = re.compile("|".join(f"(?:{pattern})" for pattern in LEFT_OUT))


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as a reader has it."""
    monkeypatch.chdir(tmp_path)
    write_notes(tmp_path / "notes")
    await overstory.remember(tmp_path / "notes", "ferry")
    await overstory.improve("ferry", build_global_context_index=True)
    minutes = [
        overstory.SourceDocument(f"Anna Hofer moved the Northstar launch to {day} June.", f"minutes-{day + 8}")
        for day in range(9, 13)
    ]
    await overstory.remember(minutes, "northstar")
    await overstory.improve("northstar", build_global_context_index=True)
    return tmp_path


def write_notes(folder: Path) -> None:
    folder.mkdir()
    for note in read_notes()[:8]:
        (folder / note.source).write_text(note.text, encoding="utf-8")


@pytest.mark.parametrize(
    "page", [page for page in PYTHON if page.name not in RUN_ELSEWHERE], ids=lambda page: page.name
)
async def test_the_python_of_a_page_runs(place: Path, page: Path) -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}

    for code in blocks(page, "python"):
        for away, here in IN_PLACE.items():
            code = code.replace(away, here)
        compiled = compile(
            code.replace("asyncio.run(main())", "await main()"), page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        )
        if (waiting := eval(compiled, scope)) is not None:
            await waiting

    assert len(scope) > 2


@pytest.mark.parametrize(
    "page", [page for page in COMMANDS if page.name not in RUN_ELSEWHERE], ids=lambda page: page.name
)
def test_the_commands_of_a_page_run(place: Path, page: Path) -> None:
    lines = [line for code in blocks(page, "sh") for line in code.splitlines()]
    kept = [line.removeprefix(".venv/bin/") for line in lines if not NOT_HERE.match(line)]

    for line in kept:
        ran = run(line, place)
        assert ran.exit_code == 0, f"{line}\n{ran.output}"

    assert all(line.startswith("overstory ") for line in kept)


@pytest.mark.weaviate
def test_the_commands_of_the_page_on_weaviate_run_on_a_server(
    tmp_path: Path, weaviate_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own_collections = f"{weaviate_url.partition('prefix=')[0]}prefix=Page{uuid4().hex[:8]}"
    monkeypatch.setenv("OVERSTORY_STORE_URL", own_collections)
    write_notes(tmp_path / "notes")
    lines = [line for code in blocks(ROOT / "docs" / "weaviate.md", "sh") for line in code.splitlines()]

    results = [run(line, tmp_path) for line in lines if line.startswith("overstory ")]

    assert [result.exit_code for result in results] == [0, 0, 0]
    assert "Map: generation 1 of " in results[-1].output


def run(line: str, place: Path) -> Result:
    """One command, as a shell would hand it over. An import is into another home."""
    words = shlex.split(line, comments=True)
    assert not {"|", "&&", ";", ">", "<"}.intersection(words), "let a shell run it"
    if words[1] == "import":
        shutil.rmtree(place / "home")
    return CliRunner().invoke(app, words[1:], prog_name="overstory")


def test_the_exceptions_are_needed() -> None:
    lines = [line for page in COMMANDS for code in blocks(page, "sh") for line in code.splitlines()]

    unused = [pattern for pattern in LEFT_OUT if not any(re.match(pattern, line) for line in lines)]

    assert unused == []
    assert all((ROOT / "docs" / name).is_file() for name in RUN_ELSEWHERE)
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert all(away in text for away in IN_PLACE)


def test_variables_that_are_exported_exist() -> None:
    known = {setting.variable for setting in list_settings(Settings(), {})}
    ours = ("OVERSTORY_", "LLM_", "EMBEDDING_", "WEAVIATE_")
    exported = re.findall(
        r"^export (.*)$", "\n".join(code for page in COMMANDS for code in blocks(page, "sh")), re.MULTILINE
    )

    named = {word.partition("=")[0] for line in exported for word in shlex.split(line)}

    assert named
    assert {name for name in named if name.startswith(ours)} - known - {"OVERSTORY_CODE"} == set()


def test_programs_that_are_named_exist() -> None:
    lines = [line for page in COMMANDS for code in blocks(page, "sh") for line in code.splitlines()]
    named = [
        words[1] for line in lines if (words := line.split()) and words[0] == "python" and words[1].endswith(".py")
    ]

    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []
