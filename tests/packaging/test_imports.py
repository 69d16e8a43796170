"""Importing costs nothing, and the public names are those that stand in `__all__`."""

import subprocess
import sys

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
