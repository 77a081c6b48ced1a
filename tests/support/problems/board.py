"""The seven roles of physics problems played on a model server: a reply depends on the request alone, so a rerun is told the same."""

from __future__ import annotations

import re
from typing import Any

from tests.support.patience import Patience
from tests.support.problems.play import IDEAS, MERGED, SCENES, TERMINALS, TIKZ, classified, integer, item, mcq
from tests.support.wire_reader import Asked
from tests.support.wire_server import Call, Reply, Step

PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: writer, images: true, base_url: "{url}"}}
  validator: {{provider: openai_compatible, model: solver, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""
_STEPS = "Integrate $a(t)$: $v = \\int_0^{{{t}}} {a}\\,dt = \\boxed{{{v}\\,\\mathrm{{m\\,s^{{-1}}}}}}$."
_GIVENS = re.compile(r"\$(\d+)\\,\\mathrm\{m\\,s\^\{-2\}\}\$.*?after \$(\d+)\\,\\mathrm\{s\}\$", re.DOTALL)


class ProblemBoard(Patience):
    """Plays all seven roles on the wire."""

    def __init__(self, **replies: Any) -> None:
        super().__init__()
        self.replies = replies  # terminal tool to arguments (or a function of what is asked), in the place of the usual ones; a reason alone: it cannot be done

    def play(self, asked: Asked) -> Step:
        (tool,) = [name for name in asked.tools if name in (*TERMINALS.values(), "submit_problems")]
        known = self.replies.get(tool)
        arguments = (known(asked) if callable(known) else known) or played(tool, asked.user)
        return Reply(calls=(Call("report_unable" if "reason" in arguments else tool, arguments),))


def played(tool: str, user: str) -> dict[str, Any]:
    """Arguments of a good reply."""
    found = _GIVENS.search(user)
    a, t = (int(found.group(1)), int(found.group(2))) if found else (2, 5)
    options = "\\begin{tasks}" in user
    match tool:
        case "submit_problems":
            edges = [number / 5 for number in range(5)]
            return {"problems": [{"left": 0, "top": one, "right": 1, "bottom": one + 0.19} for one in edges]}
        case "submit_classification":
            kind = "mcq_sc" if options else "subjective"
            return classified(question_type=kind, has_diagram="Input: image" in user)
        case "submit_scan":
            made = mcq(a, t) if "Kind: mcq" in user else item(a, t)
            return {"latex": made, "raw_diagram_description": "A cart on a line."}
        case "submit_tikz":
            return TIKZ
        case "submit_ideas":
            return IDEAS
        case "submit_alternate":
            return _another_way(a * t, 1 + user.count("--- alternate"))
        case "submit_variant":
            return _varied(user, a, t, options=options)
        case _:
            return _converted(user, a, t)


def _another_way(v: int, number: int) -> dict[str, Any]:
    way = "By energy" if number == 1 else "By the mean speed"
    steps = f"{way}, $v = \\boxed{{{v}\\,\\mathrm{{m\\,s^{{-1}}}}}}$."
    return {
        "solution": f"\\begin{{solution}}\n{steps}\n\\end{{solution}}",
        "method": way,
        "final_answer": f"{v}\\,\\mathrm{{m\\,s^{{-1}}}}",
    }


def _varied(user: str, a: int, t: int, *, options: bool) -> dict[str, Any]:
    if "Variant: multi" in user:
        return MERGED
    said = re.search(r"Number: (\d+)", user)
    number = int(said.group(1)) if said else 1
    if "Variant: numerical" in user:
        return {"latex": mcq(a + number, t + 7) if options else item(a + number, t + 7)}
    if "Variant: context" in user:
        cart, swan = (SCENES[name].format(a=a, t=t) for name in ("cart", "swan"))
        return {"latex": mcq(a, t).replace(cart, swan) if options else item(a, t, "swan")}
    made = item(a + 1, t + 4, "swan", steps=_STEPS)
    if options:
        tasks = "\\begin{tasks}(2)\n\\task one \\ans\n\\task two\n\\end{tasks}\n\\begin{solution}"
        made = made.replace("\\begin{solution}", tasks)
    return {"latex": made}


def _converted(user: str, a: int, t: int) -> dict[str, Any]:
    if "To: integer" in user:
        return {"latex": integer(a, t)}
    if "To: mcq" in user:
        return {"latex": mcq(a, t, right=2 if "To: mcq_mc" in user else 1)}
    return {"latex": item(a, t)}
