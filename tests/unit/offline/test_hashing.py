import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from overstory.offline.hashing import HashingEmbedder

TEXT = st.text(min_size=1, max_size=200).filter(lambda text: text.strip())


@given(st.lists(TEXT, min_size=1, max_size=5), st.sampled_from([8, 64, 384]))
def test_every_text_gets_a_vector_of_length_one(texts: list[str], dimensions: int) -> None:
    vectors = HashingEmbedder(dimensions).embed_now(texts)

    assert vectors.shape == (len(texts), dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


@given(TEXT, TEXT)
def test_a_vector_does_not_depend_on_its_company(one: str, other: str) -> None:
    embedder = HashingEmbedder(64)

    together = embedder.embed_now([one, other, one])

    np.testing.assert_array_equal(together[0], embedder.embed_now([one])[0])
    np.testing.assert_array_equal(together[0], together[2])


def test_vectors_are_the_same_on_every_machine() -> None:
    vector = HashingEmbedder(16).embed_now(["The launch moved to 1 July."])[0]

    expected = [
        0.053,
        0.000,
        -0.055,
        -0.802,
        0.059,
        0.237,
        -0.074,
        0.000,
        -0.069,
        0.059,
        -0.166,
        0.473,
        0.040,
        -0.106,
        -0.115,
        0.000,
    ]
    np.testing.assert_allclose(vector, expected, atol=2e-3)


def test_forms_of_one_word_are_near_and_other_words_are_far() -> None:
    base, form, other = HashingEmbedder().embed_now(["cancelled meetings", "cancelled meeting", "harbour ferry"])

    assert base @ form > 0.6
    assert abs(base @ other) < 0.2


def test_chinese_texts_that_share_words_are_near() -> None:
    question, answer, other = HashingEmbedder().embed_now(
        ["图书馆什么时候开门", "图书馆每天早上九点开门", "他在山上种了三棵树"]
    )

    assert question @ answer > question @ other + 0.2


def test_stop_words_hardly_count() -> None:
    question, answer, other = HashingEmbedder().embed_now(
        ["when is the launch of it", "launch in June", "it is when the of is the when"]
    )

    assert question @ answer > question @ other


async def test_many_texts_are_embedded_off_the_loop() -> None:
    embedder = HashingEmbedder(32)
    texts = [f"note {number}" for number in range(20)]

    vectors = await embedder.embed(texts)

    np.testing.assert_array_equal(vectors, embedder.embed_now(texts))
    assert (embedder.model, embedder.dimensions) == ("hashing", 32)


async def test_no_texts_give_no_vectors() -> None:
    assert (await HashingEmbedder(32).embed([])).shape == (0, 32)
