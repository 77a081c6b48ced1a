"""Where sections of a JATS article end."""

from __future__ import annotations

from tests.formats.jats.test_reader import article, parse


def test_a_box_ends_where_the_text_around_it_goes_on() -> None:
    box = (
        "<boxed-text><label>Box 1</label><caption><title>Tools</title></caption><p>A gauge.</p></boxed-text>"
    )
    entry = parse(article(f"<sec><title>Results</title><p>Before.</p>{box}<p>After.</p></sec>"))
    results, tools = (one for one in entry.sections if "Results" in one.title or "Tools" in one.title)
    said = entry.text.split("\n")
    assert results.end_line is None
    assert tools.end_line is not None
    assert (said[tools.end_line - 1], "After." in said[tools.end_line :]) == ("A gauge.", True)
