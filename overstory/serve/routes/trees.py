"""Looking at an index: nodes, their children and history, documents, and searching."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from overstory.serve import looking
from overstory.serve.context import NodeId, TheLook
from overstory.serve.forms import Text
from overstory.serve.views import DocumentView, HistoryView, NodeView, SearchView, TreeView

router = APIRouter(prefix="/v1/datasets/{dataset}", tags=["index"])
_Offset = Annotated[int, Query(ge=0, le=2**31 - 1)]


@router.get("/tree")
async def tree(
    seen: TheLook,
    node: Annotated[UUID | None, Query(description="Where to begin; at the root if unset.")] = None,
    depth: Annotated[int, Query(ge=0, le=8, description="So many levels below it.")] = 1,
    offset: _Offset = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
) -> TreeView:
    """A node and what is below it; children are loaded when they are asked for."""
    return await looking.tree(seen, node, depth, offset, limit)


@router.get("/nodes/{node}")
async def node(seen: TheLook, node: NodeId) -> NodeView:
    """All that a node says, with where its facts come from and the path to it."""
    return await looking.node(seen, node)


@router.get("/nodes/{node}/history")
async def history(seen: TheLook, node: NodeId) -> HistoryView:
    """A node's text in each kept generation."""
    return await looking.history(seen, node)


@router.get("/documents/{document}")
async def document(
    seen: TheLook,
    document: Annotated[UUID, Path()],
    chunk: Annotated[UUID | None, Query(description="Show the part around this chunk.")] = None,
    quote: Annotated[Text, Query(max_length=4_000, description="Mark the sentence of the chunk that says this.")] = "",
    offset: _Offset = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 30,
) -> DocumentView:
    """A document in its chunks, which laid end to end are its text."""
    return await looking.document(seen, document, chunk=chunk, quote=quote, offset=offset, limit=limit)


@router.get("/search")
async def search(seen: TheLook, q: Annotated[Text, Query(min_length=1, max_length=1_000)]) -> SearchView:
    """Areas and summaries that a few words lead to."""
    words = q.strip()
    return await looking.search(seen, words) if words else SearchView(areas=[], summaries=[])
