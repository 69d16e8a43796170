import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from overstory.errors import MissingPackageError
from overstory.offline import minilm
from overstory.offline.minilm import MiniLmEmbedder, local_embedder_available

needs_model = pytest.mark.skipif(not local_embedder_available(), reason="the extra `local` is not installed")


@needs_model
async def test_near_meanings_have_near_vectors() -> None:
    texts = ["The meeting was called off.", "They cancelled the appointment.", "The cat sleeps on the sofa."]

    near, same, far = await MiniLmEmbedder().embed(texts)

    assert near @ same > 0.5 > near @ far


@needs_model
async def test_vectors_have_length_one_in_the_order_of_the_texts() -> None:
    embedder = MiniLmEmbedder()
    texts = ["short", "a much longer text about ferries and harbours " * 10, "short", *(f"text {n}" for n in range(9))]

    vectors = await embedder.embed(texts)

    assert vectors.shape == (len(texts), embedder.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(vectors[0], vectors[2])
    alone = await embedder.embed([texts[1]])
    assert alone[0] @ vectors[1] > 0.9999


@needs_model
async def test_a_long_text_is_cut_and_not_refused() -> None:
    text = "harbour " * 5_000

    vectors = await MiniLmEmbedder().embed([text, text + "something else at the end"])

    assert vectors[0] @ vectors[1] > 0.9999


@needs_model
async def test_no_texts_load_nothing() -> None:
    assert (await MiniLmEmbedder().embed([])).shape == (0, 384)


@needs_model
def test_words_in_brackets_of_a_text_are_no_control_marks() -> None:
    pieces = minilm._tokenizer().encode("[SEP] [CLS]").tokens

    assert pieces[0] == "[CLS]"
    assert pieces[-1] == "[SEP]"
    assert "[SEP]" not in pieces[1:-1]


def test_without_its_packages_the_embedder_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(MissingPackageError, match=r"overstory\[local\]"):
        MiniLmEmbedder()

    assert not local_embedder_available()


def test_importing_the_module_loads_no_runtime() -> None:
    code = (
        "import sys, overstory.offline.minilm as m; m.local_embedder_available(); print('onnxruntime' in sys.modules)"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "False"
