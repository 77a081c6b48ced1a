"""The capable model of `benchmarks.chain`: it asks about facts of a generated report, and answers from what it sees of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from tests.support.wire_reader import Asked
from tests.support.wire_server import Call, Reply

PAGE = 3_700  # characters of a page of a paper
_PLOTS = (
    "Varna", "Oslo", "Turin", "Cadiz", "Bergen", "Lviv", "Porto", "Malmo", "Ghent", "Split", "Basel", "Derry", "Kiel", "Lucca",
    "Narva", "Odense", "Parma", "Riga", "Sligo", "Trier", "Umea", "Vaduz", "Worms", "Ypres", "Zadar", "Arles", "Brest", "Como",
)  # fmt: skip
_CROPS = ("barley", "lentil", "mustard", "clover", "rye", "flax")
_FACT = re.compile(r"(?:(\d+)\| )?(The mean yield of the (\w+) plot under (\w+) was (\d+) kg\.)")
_ASKED = re.compile(r"What was the mean yield of the (\w+) plot under (\w+)\?")
_DIFFER = re.compile(
    r"How many kg more was the mean yield of the (\w+) plot under (\w+) than of the (\w+) plot under (\w+)\?"
)
_NUMBERED = re.compile(r"^(\d+)\. (?:\[\w+\] )?((?:What was|How many) .*\?)$", re.MULTILINE)
_WANTED = re.compile(r"^- (factual|comparison): (\d+)$", re.MULTILINE)
_WHOLE = re.compile(r"lines 1-(\d+) of \1\b")
_JUDGED = ("self_contained", "relevant")
_UNUSED = re.compile(r"no question was asked about: (\d+)")


def document(pages: int) -> str:
    """A report of so many pages: facts in their order, each in front of sentences without any."""
    lines, size, number = ["Report on the field trials", ""], 0, 0
    while size < pages * PAGE:
        plot, crop = _PLOTS[number % len(_PLOTS)], _CROPS[number // len(_PLOTS) % len(_CROPS)]
        amount = 100 + draw(f"{plot} {crop}") % 800
        section = [f"The mean yield of the {plot} plot under {crop} was {amount} kg.", ""]
        for sentence in range(8):
            words = [_WORDS[draw(f"{number} {sentence} {word}") % len(_WORDS)] for word in range(20)]
            section.append(f"The {' '.join(words)}.")
        lines += [*section, ""]
        size += sum(len(line) + 1 for line in section)
        number += 1
    return "\n".join(lines) + "\n"


_WORDS = [
    "soil",
    "rain",
    "frost",
    "seed",
    "field",
    "autumn",
    "furrow",
    "ditch",
    "gate",
    "wagon",
    "barn",
    "ledger",
    "keeper",
    "season",
    "harvest",
    "labour",
    "drain",
    "hedge",
    "meadow",
    "stubble",
    "plough",
    "hand",
    "wall",
    "stone",
    "road",
    "bank",
    "river",
    "valley",
    "slope",
    "weather",
    "wind",
    "cloud",
    "morning",
    "evening",
    "winter",
    "summer",
]


def draw(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def play(asked: Asked) -> Reply:
    """What the capable model replies."""
    if asked.terminal in _BATCH:
        return _BATCH[asked.terminal](asked)
    if asked.role == "comparer":
        checks = dict.fromkeys((*_JUDGED, "supported", "premise_holds", "unambiguous"), True)
        pairs = [(_ASKED.findall(one) or [("", "")])[0] for one in asked.user.split("\nPair ")[1:]]
        verdicts = [
            {**checks, "number": at, "matches": not _is_wrong(*one), "explanation": "I compared the amounts."}
            for at, one in enumerate(pairs, 1)
        ]
        return _call("submit_comparisons", comparisons=verdicts)
    if asked.role == "deduplicator":
        return _call("submit_duplicate_verdict", verdict="unique", explanation="Another plot.")
    return _ask(asked) if asked.role == "generator" else _answer(asked)


def _ask(asked: Asked) -> Reply:
    taken = set(_ASKED.findall(asked.user))
    for line, quote, plot, crop, amount in _FACT.findall("\n".join((asked.user, *asked.results))):
        if (plot, crop) not in taken:
            return _call(
                "submit_qa",
                question=f"What was the mean yield of the {plot} plot under {crop}?",
                answer=f"{amount} kg",
                evidence=[{"quote": quote, "start_line": int(line) if line else None}],
                question_type="numeric",
            )
    if asked.results or _WHOLE.search(asked.user):
        return _call("report_exhausted", reason="Every fact has been asked about.")
    return _call("read_lines", start_line=int((_UNUSED.findall(asked.user) or ["1"])[0]))


def _facts(asked: Asked) -> dict[tuple[str, str], tuple[int | None, str, int]]:
    """Line, sentence and amount of the facts that it sees, by plot and crop; the line is None if it has no number."""
    return {
        (plot, crop): (int(line) if line else None, quote, int(amount))
        for line, quote, plot, crop, amount in _FACT.findall("\n".join((asked.user, *asked.results)))
    }


def _ask_many(asked: Asked) -> Reply:
    """Questions on facts that no question names yet. The facts lie far apart."""
    facts, wanted = _facts(asked), {kind: int(count) for kind, count in _WANTED.findall(asked.user)}
    taken = {
        *_ASKED.findall(asked.user),
        *(pair for one in _DIFFER.findall(asked.user) for pair in (one[:2], one[2:])),
    }
    most = wanted.get("factual", 0) + 2 * wanted.get("comparison", 0)
    fresh = [key for key in facts if key not in taken]
    left = iter(fresh[:: max(1, len(fresh) // max(20, most))])
    asks = [
        {"question": f"What was the mean yield of the {plot} plot under {crop}?", "question_type": "factual"}
        for _, (plot, crop) in zip(range(wanted.get("factual", 0)), left, strict=False)
    ]
    for _ in range(wanted.get("comparison", 0)):
        low, high = sorted((next(left), next(left)), key=lambda key: facts[key][2])
        text = "How many kg more was the mean yield of the {} plot under {} than of the {} plot under {}?"
        asks.append({"question": text.format(*high, *low), "question_type": "comparison"})
    return _call("submit_questions", questions=asks)


def _given(asked: Asked, question: str) -> dict[str, Any] | None:
    """The answer to a question with its quotes; None if it does not see the facts."""
    facts = _facts(asked)
    keys = [
        *_ASKED.findall(question),
        *(pair for one in _DIFFER.findall(question) for pair in (one[:2], one[2:])),
    ]
    if not all(key in facts for key in keys):
        return None
    amounts = [facts[key][2] for key in keys]
    evidence = [{"quote": facts[key][1], "start_line": facts[key][0]} for key in keys]
    if len(keys) == 1:
        return {
            "answer": f"The {keys[0][0]} plot gave a mean yield of {amounts[0]} kg when {keys[0][1]} grew there.",
            "evidence": evidence,
        }
    difference = str(amounts[0] - amounts[1])
    computation = {"operation": "difference", "items": [f"{one} kg" for one in amounts], "result": difference}
    answer = f"{difference} kg more: {amounts[0]} kg of {keys[0][0]} under {keys[0][1]} against {amounts[1]} kg of {keys[1][0]} under {keys[1][1]}."
    return {"answer": answer, "evidence": evidence, "computation": computation}


def _answer_many(asked: Asked) -> Reply:
    if not _NUMBERED.search(asked.user):
        return _answer_again(asked)
    found = [(int(number), _given(asked, question)) for number, question in _NUMBERED.findall(asked.user)]
    return _call(
        "submit_grounded_answers", answers=[{"number": number, **given} for number, given in found if given]
    )


def _answer_again(asked: Asked) -> Reply:
    return _call(
        "submit_grounded_answers",
        **(
            _given(asked, asked.user.partition("\nQuestion (")[2])
            or {"answer": "Insufficient information in the document."}
        ),
    )


def _answer_passages(asked: Asked) -> Reply:
    """What it sees of a question whose passages are hidden in turn."""
    asks = _DIFFER.findall(asked.user)
    known = bool(asks) and all(
        f"of the {plot} plot under {crop} was" in asked.user for plot, crop in (asks[0][:2], asks[0][2:])
    )
    return _call("submit_document_answer", answer="not told", answerable=known, confidence=0.9)


def _blind(asked: Asked, question: str) -> dict[str, Any]:
    given = _given(asked, question)
    judged = dict.fromkeys((*_JUDGED, "unambiguous"), True)
    if given is None:
        return judged | {"answerable": False, "answer": ""}
    for plot, crop in _ASKED.findall(question):
        if _is_wrong(plot, crop):
            given["answer"] = f"{_facts(asked)[plot, crop][2] + 1} kg"
    return judged | {"answerable": True, "answer": given["answer"], "evidence": given["evidence"]}


def _answer_blind(asked: Asked) -> Reply:
    found = _NUMBERED.findall(asked.user)
    if not found:
        return _answer(asked)
    return _call(
        "submit_answers", answers=[{"number": int(number), **_blind(asked, one)} for number, one in found]
    )


def _guess(asked: Asked) -> Reply:
    numbers = [int(number) for number, _ in _NUMBERED.findall(asked.user)]
    return _call(asked.terminal, answers=[{"number": number, "answer": "unknown"} for number in numbers])


_BATCH: dict[str, Callable[[Asked], Reply]] = {
    "submit_questions": _ask_many,
    "submit_grounded_answers": _answer_many,
    "submit_document_answer": _answer_passages,
    "submit_answers": _answer_blind,
    "submit_closed_book_answers": _guess,
    "submit_closed_book_answer": lambda _: _call("submit_closed_book_answer", answer="unknown"),
    "submit_verdict": lambda _: _call(
        "submit_verdict", verdict="SUPPORTED", confidence=0.9, reason="So it says."
    ),
}


def _answer(asked: Asked) -> Reply:
    if differ := _DIFFER.search(asked.user):
        return _call("submit_answers", **_blind(asked, differ.group()))
    plot, crop = _ASKED.findall(asked.user)[-1]
    seen = _FACT.findall("\n".join((asked.user, *asked.results)))
    found = next((fact for fact in seen if fact[2:4] == (plot, crop)), None)
    if found is None and not asked.results and not _WHOLE.search(asked.user):
        return Reply(calls=(Call("search", {"pattern": plot}), Call("search", {"pattern": f"under {crop}"})))
    if found is None:
        return _call("submit_answers", answerable=False, unambiguous=True, answer="", note="Not there.")
    line, quote, _, _, amount = found
    answer = f"{int(amount) + 1} kg" if _is_wrong(plot, crop) else f"{amount} kg"
    if draw(f"worded {plot} {crop}") % 3 == 0:
        answer = f"on average it yielded {answer}"
    return _call(
        "submit_answers",
        answerable=True,
        unambiguous=True,
        answer=answer,
        evidence=[{"quote": quote, "start_line": int(line) if line else None}],
        **(dict.fromkeys(_JUDGED, True) if '"relevant"' in asked.whole else {}),
    )


def _is_wrong(plot: str, crop: str) -> bool:
    return draw(f"wrong {plot} {crop}") % 10 == 0


def _call(name: str, **arguments: object) -> Reply:
    return Reply(calls=(Call(name, arguments),))
