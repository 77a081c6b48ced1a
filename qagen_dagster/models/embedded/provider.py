"""The embedded provider: a model in this process that decides the next tool calls by rules."""

from collections.abc import Callable

from qagen_dagster.errors import ConfigError
from qagen_dagster.models.embedded.answering.reader import read
from qagen_dagster.models.embedded.conversation import Action, Conversation, read_conversation
from qagen_dagster.models.embedded.exams import roles as exams
from qagen_dagster.models.embedded.problems import roles as problems
from qagen_dagster.models.embedded.questions.generator import propose
from qagen_dagster.models.embedded.questions.matcher import judge_duplicate
from qagen_dagster.models.messages import AssistantMessage, Request, ToolCall, Usage
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.scripted import ScriptedProvider

Mechanism = Callable[[Conversation], list[Action]]  # decides the next tool calls from the conversation alone
MECHANISMS: dict[str, Mechanism] = {
    "rules": propose,
    "reader": read,
    "matcher": judge_duplicate,
    "exam-designer": exams.design,
    "exam-implementer": exams.implement,
    "exam-verifier": exams.verify,
    "exam-style-judge": exams.judge_style,
    "problem-classifier": problems.classify_tex,
    "problem-scanner": problems.scan,
    "problem-tikz": problems.draw,
    "problem-ideas": problems.find_ideas,
    "problem-alternate": problems.solve_otherwise,
    "problem-variant": problems.make_variant,
    "problem-converter": problems.convert_format,
}


class EmbeddedProvider(ScriptedProvider):
    """A `Provider` whose model is the mechanism of MECHANISMS that `spec.model` names. `mechanism` replaces it,
    for instance by a reader with other weights. Raises ConfigError for an unknown name."""

    def __init__(self, spec: ModelSpec, mechanism: Mechanism | None = None) -> None:
        if spec.model not in MECHANISMS:
            known = ", ".join(sorted(MECHANISMS))
            raise ConfigError(f"embedded has no model {spec.model!r}; there are {known}", key="model")
        decide = mechanism or MECHANISMS[spec.model]
        super().__init__(spec, lambda request: _turn(request, decide(read_conversation(request))), _usage)
        self._shown = spec.name


def _turn(request: Request, actions: list[Action]) -> AssistantMessage:
    calls = (
        ToolCall(id=f"embedded_{len(request.messages)}_{index}", name=action.name, arguments=action.arguments)
        for index, action in enumerate(actions)
    )
    return AssistantMessage(content=tuple(calls))


def _usage(request: Request, message: AssistantMessage) -> Usage:
    """The usage of a turn; each word counts as a token."""
    conversation = read_conversation(request)
    texts = (conversation.system, conversation.prompt, *(one.text for one in conversation.exchanges))
    written = (str(value) for call in message.tool_calls for value in call.arguments.values())
    return Usage(
        input_tokens=sum(len(text.split()) for text in texts),
        output_tokens=sum(len(text.split()) for text in written),
    )
