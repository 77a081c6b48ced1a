from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.models.messages import (
    AssistantMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.workarounds import ResultImages, fit, wire_name
from tests.models.conftest import ask, picture, result

SPEC = ModelSpec(provider="openai_compatible", model="m")
BLIND = SPEC.model_copy(update={"images": False})


def turn(*contents: tuple[Text | Image, ...]) -> tuple[Message, ...]:
    calls = tuple(ToolCall(id=f"c{n}", name="view_page") for n in range(len(contents)))
    results = tuple(result(f"c{n}", "view_page", *content) for n, content in enumerate(contents))
    return AssistantMessage(content=calls), ToolMessage(results=results)


def fitted(*messages: Message, spec: ModelSpec = SPEC, images: ResultImages = ResultImages.DEFERRED):
    return fit(ask(messages=messages), spec, images, error_flag=False)


def test_deferred_pictures_follow_all_results_in_order_with_their_titles() -> None:
    _, results, pictures = fitted(*turn((Text(text="see"), picture("page 1")), (picture(),)))
    assert isinstance(results, ToolMessage)
    assert isinstance(pictures, UserMessage)
    assert [part.text for r in results.results for part in r.content if isinstance(part, Text)] == [
        "see",
        "[picture 1 (page 1) is in the message after the tool results]",
        "[picture 2 is in the message after the tool results]",
    ]
    assert [part.text if isinstance(part, Text) else "PICTURE" for part in pictures.content] == [
        "picture 1 (page 1):",
        "PICTURE",
        "picture 2:",
        "PICTURE",
    ]


def test_a_user_message_after_deferred_pictures_joins_theirs() -> None:
    *_, last = fitted(*turn((picture(),)), UserMessage(content=(Text(text="Go on."),)))
    assert isinstance(last, UserMessage)
    assert last.content[-1] == Text(text="Go on.")
    assert len(fitted(*turn((picture(),)), UserMessage(content=(Text(text="Go on."),)))) == 3


def test_inline_pictures_stay_in_their_result() -> None:
    _, results = fitted(*turn((picture("page 1"),)), images=ResultImages.INLINE)
    assert isinstance(results, ToolMessage)
    assert [part.type for part in results.results[0].content] == ["text", "image"]


@pytest.mark.parametrize("images", list(ResultImages))
def test_a_model_without_eyes_gets_a_note(images: ResultImages) -> None:
    told = fitted(*turn((picture("page 1"),)), spec=BLIND, images=images)
    assert len(told) == 2
    assert "page 1: not shown" in str(told[1])


def test_an_assistant_message_with_nothing_to_say_is_dropped() -> None:
    silent = AssistantMessage(content=(Thinking(text="Hm."), Text(text=" \n")))
    assert len(fitted(*ask().messages, silent, *ask().messages)) == 1


@given(st.lists(st.lists(st.booleans(), max_size=3), min_size=1, max_size=4))
def test_nothing_is_lost_or_reordered(shapes: list[list[bool]]) -> None:
    data = iter(range(100))
    contents = [
        tuple(Image(media_type="image/png", data=str(next(data)).encode()) for eye in shape if eye)
        for shape in shapes
    ]
    _, results, *rest = fitted(*turn(*contents))
    assert isinstance(results, ToolMessage)
    assert [r.call_id for r in results.results] == [f"c{n}" for n in range(len(shapes))]
    assert all(r.content for r in results.results)
    moved = [part for message in rest for part in message.content if isinstance(part, Image)]
    assert moved == [part for content in contents for part in content]
    assert len(rest) == bool(moved)


@given(st.text())
def test_every_tool_name_fits_the_wire(name: str) -> None:
    fit_name = wire_name(name)
    assert 1 <= len(fit_name) <= 64
    assert all(character.isascii() and (character.isalnum() or character in "_-") for character in fit_name)
