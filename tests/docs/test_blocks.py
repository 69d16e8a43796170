import ast
import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import typer

import overstory
from overstory.cli.app import app
from overstory.demo import read_notes
from tests.docs.blocks import PAGES, ROOT, blocks

PYTHON = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(blocks(page, "python"))
]
COMMANDS = [
    pytest.param(line, id=f"{page.name}: {line}")
    for page in PAGES
    for code in blocks(page, "sh")
    for line in code.splitlines()
    if re.match(r"(\.venv/bin/)?overstory ", line)
]
MAKE = [line for page in PAGES for code in blocks(page, "sh") for line in code.splitlines() if line.startswith("make ")]
LINKS = [
    pytest.param(page, target, id=f"{page.name}: {target}")
    for page in PAGES
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    if not urlsplit(target).scheme
]


@pytest.mark.parametrize("code", PYTHON)
def test_python_blocks_name_what_exists(code: str) -> None:
    tree = ast.parse(code)

    imported = [
        n.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "overstory"
        for n in node.names
    ]
    assert all(hasattr(overstory, name) for name in imported)


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    [code] = blocks(ROOT / "README.md", "python")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OVERSTORY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("EMBEDDING_MODEL", "hashing")
    write_notes(tmp_path / "notes", 12)

    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})

    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_can_be_typed_as_written(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]

    name, command = "overstory", typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        name, command, words = words[0], command.commands[words[0]], words[1:]  # type: ignore[attr-defined]  # a group

    context = command.make_context(name, [argument for argument in words if argument != "path/to/notes"])

    assert name != "overstory"
    assert context.args == []


@pytest.mark.parametrize("line", MAKE)
def test_make_knows_its_targets(line: str) -> None:
    target = line.split()[1]

    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("page", "target"), LINKS)
def test_links_lead_somewhere(page: Path, target: str) -> None:
    name, _, anchor = target.partition("#")
    file = page.parent / name if name else page

    assert file.exists()
    assert not anchor or f"# {anchor}\n" in file.read_text(encoding="utf-8").lower().replace("`", "")


def write_notes(folder: Path, number: int) -> None:
    folder.mkdir()
    for note in read_notes()[:number]:
        (folder / note.source).write_text(note.text, encoding="utf-8")
