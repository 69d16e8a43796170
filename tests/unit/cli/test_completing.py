"""Completion, by the protocol that the shells speak with the program."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = "import sys\nfrom overstory.cli import main\nsys.argv[0] = 'overstory'\nmain()\n"
SHELLS = {
    "bash": lambda words: {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
    "zsh": lambda words: {"_TYPER_COMPLETE_ARGS": " ".join(words)},
    "fish": lambda words: {"_TYPER_COMPLETE_ARGS": " ".join(words), "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    """A program of the name that shells know, as an installation has one."""
    file = tmp_path / "bin" / "overstory"
    file.parent.mkdir()
    file.write_text(f"#!{sys.executable}\n{PROGRAM}", encoding="utf-8")
    file.chmod(0o755)
    return file


def environment(home: Path, executable: Path, **more: str) -> dict[str, str]:
    root = str(Path(__file__).parents[3])
    path = f"{executable.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "OVERSTORY_HOME": str(home), "PATH": path, "PYTHONPATH": root, **more}


def complete(executable: Path, home: Path, shell: str, *words: str) -> str:
    variables = SHELLS[shell](["overstory", *words])
    ran = subprocess.run(
        [executable],
        env=environment(home, executable, _OVERSTORY_COMPLETE=f"complete_{shell}", **variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.stderr == ""
    return ran.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_names_of_datasets_complete(run: Any, home: Path, notes: Path, executable: Path, shell: str) -> None:
    for name in ("north", "nordic", "south", "needs quotes"):
        run("remember", str(notes / "1.md"), "--dataset", name)

    found = complete(executable, home, shell, "recall", "why", "--dataset", "no")

    assert "north" in found
    assert "nordic" in found
    assert "south" not in found
    assert "quotes" not in complete(executable, home, shell, "recall", "why", "--dataset", "ne")


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_options_complete(home: Path, executable: Path, shell: str) -> None:
    assert "--only-context" in complete(executable, home, shell, "recall", "--only")
    assert "HYBRID_COMPLETION" in complete(executable, home, shell, "recall", "why", "--type", "HYB")
    assert "hybrid_completion" in complete(executable, home, shell, "recall", "why", "--type", "hyb")


def test_sources_of_documents_complete(run: Any, home: Path, notes: Path, executable: Path) -> None:
    run("remember", str(notes), "--dataset", "north")

    words = ("forget", "--dataset", "north", "--document", str(notes)[:6])

    assert complete(executable, home, "bash", *words).split() == [str(notes / f"{number}.md") for number in range(1, 6)]


def test_without_a_home_nothing_is_offered_and_none_is_made(home: Path, executable: Path) -> None:
    found = complete(executable, home, "bash", "recall", "why", "--dataset", "")

    assert found.split() == []
    assert not home.exists()


def test_a_damaged_setting_offers_nothing_and_says_nothing(
    home: Path, executable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_MAX_CONCURRENCY", "many")

    found = complete(executable, home, "bash", "recall", "why", "--dataset", "")

    assert found.split() == []


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")
def test_bash_itself_completes(run: Any, home: Path, notes: Path, executable: Path) -> None:
    run("remember", str(notes / "1.md"), "--dataset", "north")
    script = (
        "source <(overstory --show-completion bash)\nCOMP_WORDS=(overstory status --dataset no)\nCOMP_CWORD=3\n"
        "_overstory_completion overstory\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )

    ran = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=environment(home, executable),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ran.stdout, ran.stderr) == ("north\n", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_there_is_a_script_for_each_shell(home: Path, executable: Path, shell: str) -> None:
    ran = subprocess.run(
        [executable],
        env=environment(home, executable, _OVERSTORY_COMPLETE=f"source_{shell}"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert f"complete_{shell}" in ran.stdout
    assert (ran.returncode, ran.stderr) == (0, "")
