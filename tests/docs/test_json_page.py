import dataclasses
import re
from typing import Any

import pytest

from overstory import results
from overstory.cli.configuring import Setting
from overstory.models import Usage
from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`.+?`) \|", re.MULTILINE)
FORMS = {
    "remember": results.RememberResult,
    "document": results.DocumentOutcome,
    "usage": Usage,
    "improve": results.ImproveResult,
    "run": results.RunStatus,
    "index": results.IndexResult,
    "preview": results.IndexPreview,
    "level": results.LevelReport,
    "evidence": results.Evidence,
    "freshness": results.Freshness,
    "tree": results.TreeEntry,
    "status": results.DatasetStatus,
    "documents": results.DocumentEntry,
    "forget": results.ForgetResult,
    "proof": results.ForgetProof,
    "config": Setting,
}


def documented(section: str) -> set[str]:
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return {name for row in ROW.findall(text) for name in re.findall(r"`(\w+)`", row)}


def names(form: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(form)}


@pytest.mark.parametrize("section", FORMS)
def test_the_page_lists_the_fields_of_a_form(section: str) -> None:
    assert documented(section) == names(FORMS[section])


def test_the_page_lists_the_fields_of_an_answer() -> None:
    assert documented("recall") == names(results.RecallResult) - {"value"} | {"generation"}
