"""The prompts of every search type, as `docs/recall.md` shows them.

    python -m tests.docs.recall_prompts      writes them into the page

They come from a tiny dataset and the scripted model, so that they are what the code sends.
"""

import asyncio
import os
import tempfile
import warnings

from overstory import SearchType, SourceDocument, improve, recall, remember
from overstory.testing import ScriptedModelServer
from overstory.testing.behaviours import Request, say
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "recall.md"
BEGIN, END = "<!-- prompts: begin -->\n", "<!-- prompts: end -->\n"
NOTES = [
    SourceDocument("Anna Hofer set the Northstar launch in Porto for 2 May 2025.", "plan.md", occurred_at="2025-03-01"),
    SourceDocument("The Northstar launch moved to 9 June 2025.", "board.md", occurred_at="2025-04-10"),
]
WITH_INDEX = {"include_global_context_index": True}
ADAPTIVE = {**WITH_INDEX, "global_context_index_mode": "adaptive"}
QUESTIONS = {
    SearchType.GRAPH_COMPLETION: "When is the Northstar launch?",
    SearchType.HYBRID_COMPLETION: "When is the Northstar launch?",
    SearchType.GRAPH_COMPLETION_COT: "Who set the first date of the Northstar launch?",
    SearchType.GRAPH_COMPLETION_DECOMPOSITION: "Who set the Northstar launch, and when is it now?",
    SearchType.GRAPH_COMPLETION_CONTEXT_EXTENSION: "What became of Anna Hofer's launch?",
    SearchType.GRAPH_SUMMARY_COMPLETION: "When is the Northstar launch?",
    SearchType.TRIPLET_COMPLETION: "What has Anna Hofer to do with Porto?",
    SearchType.TEMPORAL: "What happened to Northstar in April 2025?",
    SearchType.RAG_COMPLETION: "When is the Northstar launch?",
    SearchType.CHUNKS: "When is the Northstar launch?",
    SearchType.CHUNKS_LEXICAL: 'Which note says "moved to 9 June"?',
    SearchType.SUMMARIES: "When is the Northstar launch?",
}


async def generate() -> str:
    """The part of the page between its marks; reads and writes below `OVERSTORY_HOME`."""
    await remember(NOTES, "northstar")
    await improve("northstar", build_global_context_index=True)
    with ScriptedModelServer() as model:
        os.environ |= {"LLM_MODEL": "openai/scripted", "LLM_ENDPOINT": model.url, "LLM_API_KEY": "none"}
        model.when(say("ENOUGH"), text="asks for what is missing")
        model.when(say("Who is Anna Hofer?"), text="asks for what is missing", times=1)
        model.when(say("Who set the Northstar launch?\nWhen is the Northstar launch?"), text="simpler questions")
        model.when(say("It moved from 2 May to 9 June 2025."), text="Summarise what this context says")
        sections = [await section(model, query_type, None, "") for query_type in QUESTIONS]
        for query_type in (SearchType.GRAPH_COMPLETION, SearchType.HYBRID_COMPLETION):
            sections.append(await section(model, query_type, WITH_INDEX, ", with the index"))
        sections.append(await section(model, SearchType.GRAPH_COMPLETION, ADAPTIVE, ", with the adaptive prelude"))
    return "\n".join(sections)


async def section(
    model: ScriptedModelServer, query_type: SearchType, config: dict[str, object] | None, how: str
) -> str:
    """One type: its question and every prompt that it sends, or what it returns where it sends none."""
    model.forget()
    question = QUESTIONS[query_type]
    [found] = await recall(question, query_type, datasets="northstar", top_k=3, retriever_specific_config=config)
    sent = [user_message(request) for request in model.chats]
    head = f"### `{query_type}`{how}\n\n{question}\n\n"
    if not sent:
        return f"{head}No model is asked; the text of the result:\n\n{block(found.text)}"
    told = "The prompt:" if len(sent) == 1 else f"The {len(sent)} prompts, one after the other:"
    return f"{head}{told}\n\n" + "\n".join(block(prompt) for prompt in sent)


def user_message(request: Request) -> str:
    messages = request.body["messages"]
    return next(str(message["content"]) for message in messages if message["role"] == "user")


def block(text: str) -> str:
    return f"````text\n{text}\n````\n"


def written(page: str) -> str:
    """What the page holds between its marks."""
    return page.partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"OVERSTORY_HOME": home, "EMBEDDING_MODEL": "hashing"}
        text = asyncio.run(generate())
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(before + BEGIN + text + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
