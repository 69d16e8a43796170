"""One name in the wheel: it works beside an application that has its own `tasks`, `flows` and `retrieval`."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

APPLICATION = """
import asyncio, sys
import tasks, flows, retrieval
assert tasks.MINE and flows.MINE and retrieval.MINE
import overstory
from overstory import improve, recall, remember

async def main():
    await remember(["Ada Brook moved the launch of Northstar to 9 June.", "Luis Ortega tests Northstar in Porto."])
    result = await improve(build_global_context_index=True)
    assert result.index.status == "published", result
    found = await recall("Who moved the launch?", "GRAPH_COMPLETION", only_context=True,
                         retriever_specific_config={"include_global_context_index": True})
    assert "World summary:" in found[0].text and "9 June" in found[0].text, found

asyncio.run(main())
import overstory.tasks
assert tasks.MINE and sys.modules["tasks"] is tasks
print(overstory.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_one_top_level_name(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()

    tops = {name.split("/")[0] for name in names}

    assert {t for t in tops if not t.endswith(".dist-info")} == {"overstory"}
    assert {"overstory/tasks/__init__.py", "overstory/flows/__init__.py", "overstory/retrieval/__init__.py"} <= set(
        names
    )
    assert {"overstory/py.typed", "overstory/serve/pages/index.html", "overstory/serve/pages/main.js"} <= set(names)


def test_it_works_beside_an_application_with_the_same_package_names(wheel: Path, tmp_path: Path):
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    application = tmp_path / "application"
    application.mkdir()
    (application / "tasks.py").write_text("MINE = True\n")
    for package in ("flows", "retrieval"):
        (application / package).mkdir()
        (application / package / "__init__.py").write_text("MINE = True\n")
    (application / "main.py").write_text(APPLICATION)
    environment = {**os.environ, "PYTHONPATH": str(site), "OVERSTORY_HOME": str(tmp_path / "home")}

    ran = subprocess.run(
        [sys.executable, "main.py"], cwd=application, env=environment, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip().startswith(str(site))


def test_a_stranger_of_the_same_name_is_refused_in_a_checkout(tmp_path: Path):
    (tmp_path / "flows.py").write_text("MINE = True\n")
    program = "import flows\nfrom overstory.layout import flows as ours\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}

    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert ran.returncode != 0
    assert "not Overstory's" in ran.stderr
