"""The command line as a process: encodings, streams, what it loads."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = "Anna Hofer — “Northstar” — 한국 🚀 costs 3 €.\n"


def overstory(home: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("LC_", "LANG", "PYTHON", "LLM_", "OVERSTORY"))
    }
    return subprocess.run(
        [sys.executable, "-c", "from overstory.cli import main; main()", *arguments],
        env={**kept, "OVERSTORY_HOME": str(home), "EMBEDDING_MODEL": "hashing", **environment},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_output_degrades_where_the_encoding_lacks_a_character(tmp_path: Path, encoding: str) -> None:
    note = tmp_path / "note.md"
    note.write_text(TEXT, encoding="utf-8")
    locale = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": encoding}

    read = overstory(tmp_path / "home", "remember", str(note), **locale)
    asked = overstory(tmp_path / "home", "recall", "Northstar", "--only-context", **locale)
    as_json = overstory(tmp_path / "home", "recall", "Northstar", "--only-context", "--json", **locale)

    assert [read.returncode, asked.returncode, as_json.returncode] == [0, 0, 0]
    assert b"Northstar" in asked.stdout
    assert "Traceback" not in (read.stderr + asked.stderr).decode(encoding)
    assert b"\\ud55c\\uad6d" in as_json.stdout, "JSON stays whole in any encoding"


def test_a_dataset_travels_whole_where_the_locale_knows_no_such_characters(tmp_path: Path) -> None:
    note, folder, name = tmp_path / "Zoë — 한 🚀.md", tmp_path / "Ausfuhr — 한 🚀", "Kölner Notizen — 한 🚀"
    note.write_text(TEXT, encoding="utf-8")
    locale = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}

    done = [
        overstory(tmp_path / "one", "remember", str(note), "--dataset", name, **locale),
        overstory(tmp_path / "one", "improve", "--dataset", name, "--index", **locale),
        overstory(tmp_path / "one", "export", str(folder), "--dataset", name, **locale),
        overstory(tmp_path / "two", "import", str(folder), **locale),
    ]
    found = overstory(tmp_path / "two", "recall", "Northstar", "--dataset", name, "--type", "CHUNKS", "--json")
    tree = overstory(tmp_path / "two", "tree", "--dataset", name, "--sources", "--json")

    assert [one.returncode for one in done] == [0, 0, 0, 0], done
    assert json.loads(found.stdout)["results"][0]["text"].strip() == TEXT.strip()
    assert note.name in str(json.loads(tree.stdout))
    for file in folder.glob("*.json"):
        assert name in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_the_next_command_can_be_typed_as_it_is_shown(tmp_path: Path, encoding: str) -> None:
    note, home = tmp_path / "note.md", tmp_path / "Höhle 1"
    note.write_text(TEXT, encoding="utf-8")
    locale = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": encoding}
    name = "Kölner's Notizen – 한"

    shown = overstory(
        tmp_path / "other", "--home", str(home), "remember", str(note), "--dataset", name, **locale
    ).stdout.decode(encoding)
    (command,) = [line.removeprefix("Next: ") for line in shown.splitlines() if line.startswith("Next: ")]
    program = f"overstory() {{ '{sys.executable}' -c 'from overstory.cli import main; main()' \"$@\"; }}\n"
    again = subprocess.run(
        ["bash", "-c", f"{program}{command}"],
        env={**os.environ, "OVERSTORY_HOME": str(tmp_path / "other"), "EMBEDDING_MODEL": "hashing", **locale},
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert command.isascii() == (encoding == "ascii")
    assert (again.returncode, b"generation 1" in again.stdout) == (0, True), again
    assert not (tmp_path / "other").exists()


def test_commands_in_errors_name_the_home_too(tmp_path: Path) -> None:
    missing = overstory(tmp_path / "other", "--home", str(tmp_path / "home"), "recall", "Northstar")

    assert f"`overstory --home {tmp_path / 'home'} status` lists" in missing.stderr.decode()


def test_tables_are_whole_in_a_file(tmp_path: Path) -> None:
    note = tmp_path / f"{'a long name ' * 12}.md"
    note.write_text(TEXT, encoding="utf-8")
    overstory(tmp_path / "home", "remember", str(note), "--dataset", "x" * 90)

    documents = overstory(tmp_path / "home", "documents", "--dataset", "x" * 90)
    datasets = overstory(tmp_path / "home", "status")

    assert [line for line in documents.stdout.decode().splitlines() if note.name in line]
    assert [line for line in datasets.stdout.decode().splitlines() if "x" * 90 in line]


def test_nothing_but_the_result_is_on_standard_output(tmp_path: Path) -> None:
    result = overstory(tmp_path, "recall", "Northstar")

    assert result.returncode == 2
    assert result.stdout == b""
    assert result.stderr.decode().startswith("overstory: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    command = f"'{sys.executable}' -c 'from overstory.cli import main; main()' config | head -n 1"

    result = subprocess.run(command, shell=True, capture_output=True, timeout=60, check=False, cwd=tmp_path)

    assert result.stdout.startswith(b"Variable")
    assert b"Traceback" not in result.stderr


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom overstory.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'pydantic', 'rich', 'apsw', 'pyarrow', 'networkx', 'litellm', 'onnxruntime', 'prefect', 'weaviate'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )

    result = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, timeout=60, check=False)

    assert (result.returncode, result.stderr) == (0, b"")
