"""A change of configuration is told with its old and its new value."""

from __future__ import annotations

from qagen_dagster.loop.configuration import OTHER_VERSION, Configuration, differences, what_changed


def test_each_part_that_differs_is_one_line() -> None:
    before = {"judge": "a:b", "target_count": "1", "gone": "x", "same": "1"}
    after = {"judge": "a:c", "target_count": "2", "new": "y", "same": "1"}
    assert differences(before, after) == (
        "judge: a:b → a:c",
        "target_count: 1 → 2",
        "gone: x → none",
        "new: none → y",
    )


def test_a_long_text_is_not_shown() -> None:
    assert differences({"context": "a" * 61}, {"context": "b"}) == ("context changed",)


def test_another_version_with_the_same_parts_is_told_too() -> None:
    made = Configuration("1", {"judge": "a:b"})
    assert what_changed(made, Configuration("1", {"judge": "a:b"})) == ()
    assert what_changed(made, Configuration("2", {"judge": "a:b"})) == (OTHER_VERSION,)
