"""The tree, its nodes, their history and their documents."""

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory import datasets
from overstory.models import Dataset
from overstory.serve.marking import mark


async def tree(client: httpx.AsyncClient, **query: object) -> dict:
    answer = await client.get("/v1/datasets/notes/tree", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def leaves(branch: dict) -> list[dict]:
    return [branch] if branch["kind"] == "summary" else [leaf for one in branch["below"] or [] for leaf in leaves(one)]


async def test_the_tree_leads_to_every_summary(built: httpx.AsyncClient) -> None:
    found = await tree(built, depth=8)

    assert found["tree"]["kind"] == "root"
    assert sorted(leaf["source"] for leaf in leaves(found["tree"])) == sorted(
        f"notes/{n}.md" for n in ("launch", "team", "money", "boat", "permit", "fares")
    )


async def test_a_dataset_that_is_forgotten_while_all_are_listed_is_left_out(
    built: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await built.post("/v1/remember", json={"dataset": "gone", "texts": [{"source": "a", "text": "Ada Brook."}]})
    listed = await datasets.list_datasets()
    await built.post("/v1/forget", json={"dataset": "gone", "documents": "all"})

    async def stale(user: str) -> list[Dataset]:
        return listed

    monkeypatch.setattr(datasets, "list_datasets", stale)
    answer = await built.get("/v1/datasets")

    assert [one["status"]["name"] for one in answer.json()] == ["notes"]


async def test_children_come_page_by_page(built: httpx.AsyncClient) -> None:
    whole = await tree(built)

    pages = [await tree(built, offset=offset, limit=1) for offset in range(whole["tree"]["children"])]

    assert [page["tree"]["below"][0]["id"] for page in pages] == [one["id"] for one in whole["tree"]["below"]]
    assert [page["cut"] for page in pages] == [True] * (len(pages) - 1) + [False]


async def test_a_fact_leads_to_the_sentence_that_says_it(built: httpx.AsyncClient) -> None:
    root = (await tree(built))["tree"]["id"]
    facts = (await built.get(f"/v1/datasets/notes/nodes/{root}")).json()["facts"]
    fact = facts[0]
    source = fact["sources"][0]

    query = {"chunk": source["chunk_id"], "quote": fact["text"]}
    document = (await built.get(f"/v1/datasets/notes/documents/{source['document_id']}", params=query)).json()

    marked = [part["text"] for chunk in document["chunks"] for part in chunk["parts"] if part["marked"]]
    assert marked == [fact["text"]]
    assert document["source"] == source["source"]


async def test_a_document_is_found_by_a_summary_too(built: httpx.AsyncClient) -> None:
    leaf = leaves((await tree(built, depth=8))["tree"])[0]
    node = (await built.get(f"/v1/datasets/notes/nodes/{leaf['id']}")).json()

    query = {"chunk": leaf["id"], "quote": node["text"]}
    document = (await built.get(f"/v1/datasets/notes/documents/{node['document_id']}", params=query)).json()

    assert any(part["marked"] for chunk in document["chunks"] for part in chunk["parts"])
    assert node["path"][0]["kind"] == "root"


async def test_history_shows_a_node_in_each_generation(built: httpx.AsyncClient) -> None:
    root = (await tree(built))["tree"]["id"]
    await built.post("/v1/remember", json={"dataset": "notes", "texts": ["Ada Brook moved the launch to 20 July."]})

    history = (await built.get(f"/v1/datasets/notes/nodes/{root}/history")).json()

    assert [version["generations"] for version in history["versions"]] == [[1], [2]]
    assert "20 July" in history["versions"][1]["text"]
    assert "20 July" not in history["versions"][0]["text"]


async def test_an_older_generation_is_read_when_it_is_asked_for(built: httpx.AsyncClient) -> None:
    await built.post("/v1/remember", json={"dataset": "notes", "texts": ["Ada Brook moved the launch to 20 July."]})

    old, new = await tree(built, depth=8, generation=1), await tree(built, depth=8)

    assert (len(leaves(old["tree"])), len(leaves(new["tree"]))) == (6, 7)
    unknown = await built.get("/v1/datasets/notes/tree", params={"generation": 9})
    assert (unknown.status_code, unknown.json()["data"]["available"]) == (404, [1, 2])


async def test_searching_finds_areas_and_summaries(built: httpx.AsyncClient) -> None:
    found = (await built.get("/v1/datasets/notes/search", params={"q": "hull larch"})).json()

    assert found["summaries"][0]["source"] == "notes/boat.md"
    assert found["areas"]


async def test_a_dataset_without_an_index_has_no_tree(client: httpx.AsyncClient) -> None:
    await client.post("/v1/remember", json={"dataset": "notes", "texts": ["Ada Brook tests Northstar."]})

    assert (await tree(client))["tree"] is None


async def test_what_was_forgotten_is_in_no_node(built: httpx.AsyncClient) -> None:
    await built.post("/v1/forget", json={"dataset": "notes", "documents": ["notes/boat.md"]})

    found = await tree(built, depth=8)
    texts = [(await built.get(f"/v1/datasets/notes/nodes/{found['tree']['id']}")).text]
    search = await built.get("/v1/datasets/notes/search", params={"q": "hull larch"})

    assert "larch" not in str(found) + str(texts) + search.text


@pytest.mark.parametrize("where", ["tree?node={}", "nodes/{}", "nodes/{}/history", "documents/{}"])
async def test_a_node_that_is_not_there_is_404(built: httpx.AsyncClient, where: str) -> None:
    answer = await built.get(f"/v1/datasets/notes/{where.format('00000000-0000-0000-0000-000000000000')}")

    assert answer.status_code == 404


@given(st.text(), st.text())
def test_marked_parts_are_the_text(text: str, quote: str) -> None:
    parts = mark(text, quote)

    assert "".join(part.text for part in parts) == text
    assert sum(part.marked for part in parts) <= 1


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("The hull is made of larch.", "The hull is made of larch."),
        ("The hull is\nmade of larch.", "The hull is made of larch."),
        ("On 4 March the hull was made of larch", "The hull is made of larch."),
        ("Nothing like it at all is said", ""),
        ("", ""),
    ],
)
def test_the_nearest_sentence_is_marked(quote: str, expected: str) -> None:
    parts = mark("Marta Silva welds the hull. The hull is made of larch. It floats.", quote)

    assert "".join(part.text for part in parts if part.marked) == expected
