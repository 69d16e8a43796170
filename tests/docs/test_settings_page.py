import re
from pathlib import Path

from pydantic import BaseModel

from overstory.settings import Settings, variables

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
ROW = re.compile(r"^\| `(?P<variable>[A-Z_]+)` \| (?P<default>.+?) \| .+ \|$", re.MULTILINE)


def parts() -> list[BaseModel]:
    settings = Settings()
    return [
        *(part for name in Settings.model_fields if isinstance(part := getattr(settings, name), BaseModel)),
        settings,
    ]


def defaults() -> dict[str, object]:
    return {variable: getattr(part, name) for part in parts() for variable, (name, _) in variables(type(part)).items()}


def as_written(value: object) -> str:
    return {None: "(unset)", "": "(empty)"}[value] if value in (None, "") else f"`{value}`"


def test_the_page_lists_every_setting_with_its_default() -> None:
    page = {row["variable"]: row["default"] for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))}

    assert page == {variable: as_written(value) for variable, value in defaults().items()}
