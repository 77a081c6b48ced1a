"""The model server of the comparison: it plays our roles, and answers the prompts of the peers by rule.

It runs in a process of its own. A line on its input asks for the counts so far.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from benchmarks.peers.documents import FACT, QUESTIONS_EACH, question_of
from tests.support import waterworks
from tests.support.wire_server import Fault, Reply, Seen, Step, WireServer

FIXED, DRAWN = "50 ms", "0.2-0.8 s"  # how long a call takes
_DIMENSIONS = 64
_PAIR = re.compile(r'"question":\s*("(?:[^"\\]|\\.)*"),\s*"answer":\s*("(?:[^"\\]|\\.)*")')
_INPUT = re.compile(r"At what pressure does the (\w+) valve of the (\w+) station open\?")


class Counts(NamedTuple):
    """Calls, and their tokens (four characters each). `repeated`: calls that had been answered before."""

    calls: int
    tokens: int
    repeated: int


class Server:
    """The server's process, from outside."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._line()

    def counts(self) -> Counts:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Counts(*json.loads(self._line()))

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def started(speed: str) -> Generator[Server]:
    command = [sys.executable, "-m", "benchmarks.peers.server", speed]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


class _Model:
    def __init__(self, speed: str) -> None:
        self._speed = speed
        self._seen: Counter[str] = Counter()
        self._tokens = 0

    def counts(self) -> Counts:
        calls = sum(self._seen.values())
        return Counts(calls, self._tokens, calls - len(self._seen))

    def __call__(self, seen: Seen, number: int) -> Step:
        if seen.path.endswith("/embeddings"):
            return Fault(200, _embeddings(seen.body))
        text = json.dumps(seen.body["messages"])
        key = hashlib.sha256(text.encode()).hexdigest()
        delay = 0.05 if self._speed == FIXED else 0.2 + 0.6 * int(key[:8], 16) / 0xFFFFFFFF
        self._seen[key] += 1
        step = waterworks.answer(seen, number) if seen.body.get("tools") else Reply(text=_written(seen.body))
        assert isinstance(step, Reply)
        read = (len(text) + len(json.dumps(seen.body.get("tools", [])))) // 4
        said = (len(step.text) + sum(len(json.dumps(call.arguments)) for call in step.calls)) // 4
        self._tokens += read + said
        return Reply(text=step.text, calls=step.calls, usage=(read, said, 0, 0), delay=delay)


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """Vectors by the words of each text; at once."""
    given = body["input"]
    texts = given if isinstance(given, list) and not (given and isinstance(given[0], int)) else [given]
    rows = [
        {"object": "embedding", "index": n, "embedding": _vector(str(text))} for n, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": body.get("model"), "data": rows, "usage": usage}


def _vector(text: str) -> list[float]:
    vector = [0.01] * _DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % _DIMENSIONS] += 1.0
    length = sum(value * value for value in vector) ** 0.5
    return [value / length for value in vector]


def _written(body: dict[str, Any]) -> str:
    """The reply to a prompt of a peer, by what it asks for."""
    prompt = "\n".join(_text(one["content"]) for one in body["messages"])
    if "JSON Schema:\n" in prompt:  # ragas
        return json.dumps(_of_schema(prompt))
    if "Create question-answer pairs" in prompt:  # synthetic-data-kit
        return json.dumps([{"question": q, "answer": a} for q, a in _pairs(prompt)])
    if "Rate each question-answer pair" in prompt:
        rated = _PAIR.findall(prompt.rpartition("QA pairs to rate")[2])
        return json.dumps(
            [{"question": json.loads(q), "answer": json.loads(a), "rating": 8} for q, a in rated]
        )
    return _of_deepeval(prompt)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _pairs(prompt: str, most: int = QUESTIONS_EACH) -> list[tuple[str, str]]:
    """Question and answer of the first facts of the text. Which ones depends on the text alone."""
    facts = list(dict.fromkeys(FACT.findall(prompt)))[:most]
    return [(question_of(valve, station), f"{bar} bar") for valve, station, bar in facts]


def _of_deepeval(prompt: str) -> str:
    if "'clarity', 'depth', 'structure'" in prompt:
        return json.dumps(dict.fromkeys(("clarity", "depth", "structure", "relevance"), 0.9))
    if "'feedback' and 'score'" in prompt:
        return json.dumps({"feedback": "It is clear.", "score": 0.9})
    if "with a `input` key" in prompt or "with the 'data' key" in prompt:
        return json.dumps({"data": [{"input": question} for question, _ in _pairs(prompt)]})
    asked = _INPUT.findall(prompt)
    if "'rewritten_input'" in prompt or "rewritten" in prompt.lower():
        question = question_of(*asked[-1]) if asked else "What is described?"
        return json.dumps({"rewritten_input": question, "input": question})
    facts = {(valve, station): bar for valve, station, bar in FACT.findall(prompt)}
    return f"{facts[asked[-1]]} bar" if asked and asked[-1] in facts else "The notes of a keeper."


def _of_schema(prompt: str) -> dict[str, Any]:
    """For ragas: the fields that its schema names, from the last input of the prompt."""
    schema, _ = json.JSONDecoder().raw_decode(prompt.partition("JSON Schema:\n")[2])
    given = prompt.rpartition("Now perform the same")[2]
    said, _ = json.JSONDecoder().raw_decode(given[given.index("{") :])
    text = json.dumps(said, ensure_ascii=False)
    pairs = _pairs(text, 99)
    term = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    question, answer = pairs[term % len(pairs)] if pairs else ("What is described?", "Stations.")
    themes = [valve for valve, _, _ in FACT.findall(text)] or ["valves", "pressure"]
    names = [one["name"] for one in said.get("personas", [])]
    values: dict[str, Any] = {
        "text": "Notes of the keeper of a station. " + " ".join(sorted(set(themes))),
        "headlines": re.findall(r"## The \w+ valve", said.get("text", "")),
        "output": themes,
        "entities": themes,
        "score": 5,
        "name": f"Keeper {term % 97}",
        "role_description": "Keeps the valves of a station.",
        "mapping": {name: said.get("themes", themes) for name in names},
        "combinations": [[group[0] for group in said.get("lists_of_concepts", []) if group]],
        "query": question,
        "answer": answer,
    }
    return {name: values[name] for name in schema["properties"]}


def main() -> None:
    """Serve until the input ends."""
    model = _Model(sys.argv[1])
    with WireServer(model) as server:
        print(server.url("openai_compatible"), flush=True)
        for _ in sys.stdin:
            print(json.dumps(model.counts()), flush=True)


if __name__ == "__main__":
    main()
