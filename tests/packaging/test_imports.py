"""Importing costs nothing, and the public names are those that stand in `__all__`."""

import os
import subprocess
import sys

import pytest

import overstory

HEAVY = ("prefect", "litellm", "weaviate", "pyarrow", "networkx", "onnxruntime", "numpy", "pydantic")


def test_importing_overstory_loads_nothing_heavy():
    program = f"import sys, overstory; print([m for m in {HEAVY!r} if m in sys.modules])"

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == "[]"


def test_importing_the_public_calls_loads_no_service_library():
    program = (
        "import sys; from overstory import remember, improve, recall, forget, datasets; remember.__doc__;"
        "print([m for m in ('prefect', 'litellm', 'weaviate', 'pyarrow', 'networkx', 'onnxruntime') if m in sys.modules])"
    )

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == "[]"


def test_every_public_name_is_there_and_the_list_is_sorted():
    assert overstory.__all__ == sorted(overstory.__all__)

    assert all(getattr(overstory, name) is not None for name in overstory.__all__)


@pytest.mark.parametrize(
    ("first", "chosen", "expected"),
    [("", "", "system"), ("import pyarrow; pyarrow.array([1]); ", "", "system"), ("", "mimalloc", "mimalloc")],
)
def test_arrow_keeps_no_memory_of_threads_that_have_ended(first: str, chosen: str, expected: str):
    program = (
        f"{first}import asyncio; from overstory import datasets; asyncio.run(datasets.list_datasets());"
        "import pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    environment |= {"ARROW_DEFAULT_MEMORY_POOL": chosen} if chosen else {}

    pool = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)

    assert pool.stdout.strip() == expected
