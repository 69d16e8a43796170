from hypothesis import given
from hypothesis import strategies as st

from overstory.ids import normalize_name
from overstory.offline.entities import MAX_MENTIONS, find_entities
from overstory.offline.relations import MAX_RELATIONS, find_relations
from overstory.offline.sentences import sentences_of


def kinds_in(text: str) -> dict[str, str]:
    return {mention.name: mention.type for mention in find_entities(sentences_of(text)).mentions}


def connections_in(text: str) -> set[tuple[str, str, str]]:
    return {(r.source, r.name, r.target) for r in find_relations(find_entities(sentences_of(text)))}


def test_names_are_found_whole_with_their_small_words_and_initials() -> None:
    found = kinds_in("In 1996 the University of Vienna honoured J. R. Hale and the Bank of England.")

    assert {"University of Vienna", "J. R. Hale", "Bank of England"} <= set(found)


def test_types_are_given_where_the_text_shows_them() -> None:
    found = kinds_in(
        "Anna Hofer leads the project. Delta Freight Ltd. moved to Lake Street. "
        "She was born in Graz on 3 May 1980. Northstar was late."
    )

    assert found["Anna Hofer"] == "Person"
    assert found["Delta Freight Ltd"] == "Organisation"
    assert found["Lake Street"] == found["Graz"] == "Place"
    assert found["3 May 1980"] == "Date"
    assert found["Northstar"] == ""


def test_a_word_that_opens_a_sentence_is_a_name_on_evidence_only() -> None:
    found = kinds_in(
        "Similar plans can wait. However, Brightpay won the tender. Yesterday was calm. Northstar's map is new."
    )

    assert {"Brightpay", "Northstar"} <= set(found)
    assert not {"Similar", "However", "Yesterday"} & set(found)


def test_a_genitive_is_no_part_of_the_name() -> None:
    assert "Anna Hofer" in kinds_in("They read Anna Hofer's letter to the council.")


def test_a_family_name_counts_as_the_whole_name() -> None:
    found = kinds_in("They met Jules Abernathy at noon. Later Abernathy left.")

    assert "Jules Abernathy" in found
    assert "Abernathy" not in found


def test_a_description_is_the_sentence_where_the_name_stands_first() -> None:
    found = find_entities(sentences_of("It rained. Brightpay won the tender. Brightpay is small."))

    assert next(m.description for m in found.mentions if m.name == "Brightpay") == "Brightpay won the tender."


def test_noun_phrases_after_an_article_are_things() -> None:
    found = kinds_in("The card terminals arrive late, because the supplier lost a container.")

    assert found["card terminals"] == found["supplier"] == found["container"] == "Thing"


def test_german_nouns_are_not_all_names() -> None:
    found = kinds_in("Die Bürgermeisterin Anna Hofer eröffnet am 3. Mai die neue Brücke über den Fluss in der Stadt.")

    assert "Bürgermeisterin Anna Hofer" in found
    assert found["Brücke"] == "Thing"
    assert found["3. Mai"] == "Date"


def test_scripts_without_capitals_give_few_sensible_phrases() -> None:
    chinese = kinds_in("图书馆每天早上九点开门。管理员是林小梅,她在这里工作了十二年。")
    japanese = kinds_in("駅長の佐藤さんは毎朝ホームを掃除します。")
    arabic = kinds_in("المتحف مفتوح من الساعة التاسعة صباحا حتى الخامسة مساء. الدخول مجاني يوم الجمعة.")

    assert {"林小梅", "图书馆"} <= set(chinese)
    assert {"佐藤", "ホーム"} <= set(japanese)
    assert "المتحف" in arabic
    assert len(arabic) <= 6


def test_code_logs_and_addresses_name_nothing() -> None:
    log = "\n".join(f"2025-03-01T00:0{n}:00Z ERROR Worker[{n}] Job=cbe6 Took={n}ms" for n in range(5))

    assert kinds_in(log) == {}
    assert kinds_in("def keep(self): return Keeper(self)") == {}
    assert not any(
        "example" in name for name in kinds_in("Write to Anna.Hofer@Example.org or see https://Example.org/Page.")
    )


def test_simple_words_between_two_mentions_name_their_relation() -> None:
    found = connections_in("Salimullah Hall was inaugurated on 11 August 1931. Anna Hofer leads the project.")

    assert ("Salimullah Hall", "was_inaugurated_on", "11 August 1931") in found
    assert ("Anna Hofer", "leads", "project") in found


def test_what_is_not_simple_is_only_mentioned_together() -> None:
    assert ("Anna", "mentioned_with", "Vienna") in connections_in(
        "So Anna, who had never seen it before, liked Vienna."
    )


@given(st.text(max_size=600))
def test_mentions_and_relations_are_bounded_and_agree(text: str) -> None:
    found = find_entities(sentences_of(text))
    relations = find_relations(found)
    names = {mention.name for mention in found.mentions}

    assert len(found.mentions) <= MAX_MENTIONS
    assert len(relations) <= MAX_RELATIONS
    assert len({normalize_name(name) for name in names}) == len(found.mentions)
    assert all(r.source in names and r.target in names and r.source != r.target for r in relations)


def test_a_text_full_of_names_is_cut_to_the_most_frequent() -> None:
    text = "Northstar is here. " * 3 + " ".join(f"He met Person{chr(97 + n)} Hofer{chr(97 + n)}." for n in range(26))

    found = find_entities(sentences_of(text))

    assert len(found.mentions) <= MAX_MENTIONS
    assert found.mentions[0].name == "Northstar"
