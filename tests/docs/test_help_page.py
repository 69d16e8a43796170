from tests.docs import help_page


def test_the_page_has_the_help_of_every_command_as_it_is() -> None:
    assert help_page.PAGE.read_text(encoding="utf-8") == help_page.generate(), "python -m tests.docs.help_page"


def test_every_command_is_on_it() -> None:
    page = help_page.PAGE.read_text(encoding="utf-8")

    assert "\n## overstory recall\n" in page
    assert "\n## overstory serve keys add\n" in page
