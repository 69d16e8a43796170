"""Of facts that contradict, the later one is the state and the earlier one history."""

from overstory import SourceDocument, datasets, improve, recall, remember
from overstory.testing import ScriptedModelServer

NOTES = {
    "2026-02-02": "The budget meeting of the Larkspur team is booked for 20 February at 10:00.",
    "2026-02-03": "The safety meeting of the Larkspur team is booked for 24 February at 14:00.",
    "2026-02-04": "Nadia Brandt books the design review for 26 February.",
    "2026-02-06": "Omar Lindqvist books the supplier visit for 5 March.",
    "2026-02-09": "The budget meeting of the Larkspur team is moved to 23 February at 10:00.",
    "2026-02-10": "Nadia Brandt moves the design review to 2 March.",
    "2026-02-12": "The safety meeting of the Larkspur team is moved to 27 February at 14:00.",
    "2026-02-13": "Omar Lindqvist cancels the supplier visit.",
    "2026-02-16": "The budget meeting of the Larkspur team is moved to 25 February at 16:00.",
    "2026-02-17": "Nadia Brandt cancels the design review.",
    "2026-02-18": "The safety meeting of the Larkspur team is cancelled.",
    "2026-02-19": "Nadia Brandt books a new design review for 9 March.",
}
STATE = ("moved to 25 February at 16:00", "cancels the supplier visit", "is cancelled", "new design review for 9 March")
HISTORY = ("booked for 20 February", "moved to 23 February", "booked for 24 February", "moved to 27 February")


def documents() -> list[SourceDocument]:
    return [SourceDocument(text, source=f"{date}.md", occurred_at=date) for date, text in NOTES.items()]


async def build() -> str:
    index = (await improve(build_global_context_index=True)).index
    assert index is not None and index.degraded == 0
    return await datasets.root_summary("main_dataset") or ""


def lines_with(root: str, words: str) -> list[str]:
    return [line for line in root.splitlines() if words in line]


async def test_the_root_says_how_meetings_stand_that_were_booked_moved_and_cancelled():
    await remember(documents())

    root = await build()

    for words in STATE:
        assert any("Earlier" not in line for line in lines_with(root, words)), (words, root)
    for words in HISTORY:
        assert all("Earlier" in line for line in lines_with(root, words)), (words, root)


async def test_a_model_is_given_the_notes_in_order_and_the_root_holds_the_final_state(model: ScriptedModelServer):
    await remember(list(reversed(documents())))
    model.forget()

    root = await build()

    for chat in model.chats:
        places = [chat.prompt.find(text) for text in NOTES.values() if text in chat.prompt]
        assert places == sorted(places)
    for words in STATE:
        assert lines_with(root, words), (words, root)
    later = root.index("moved to 25 February at 16:00")
    assert root.find("moved to 23 February") < later
    assert root.find("booked for 24 February") < root.index("is cancelled")


async def test_the_state_follows_when_the_notes_come_one_after_the_other():
    for document in documents():
        await remember(document, self_improvement=False)
        root = await build()

    for words in STATE:
        assert any("Earlier" not in line for line in lines_with(root, words)), (words, root)


async def test_facts_of_every_text_are_in_the_order_of_time():
    await remember(list(reversed(documents())))
    await build()

    for entry in await datasets.tree("main_dataset"):
        dates = [fact.occurred_at for fact in entry.facts]
        assert dates == sorted(dates)


async def test_of_times_with_other_offsets_the_later_instant_holds():
    old, new = "Anna Hofer moved the Northstar launch to 9 June.", "The board moved the Northstar launch to 16 June."
    await remember(
        [
            SourceDocument(new, source="new-york.md", occurred_at="2025-05-03T20:00:00-04:00"),
            SourceDocument(old, source="tokyo.md", occurred_at="2025-05-04T01:00:00+09:00"),
        ]
    )

    root = await build()
    [answer] = await recall("When is the Northstar launch?", "RAG_COMPLETION")
    [timeline] = await recall("What about the Northstar launch?", "TEMPORAL", only_context=True)

    assert root.endswith(f"- Earlier: {old}\n- {new}")
    assert answer.text == f"From the stored texts: “{new}” Earlier: “{old}”"
    assert timeline.text.index(old) < timeline.text.index(new)
