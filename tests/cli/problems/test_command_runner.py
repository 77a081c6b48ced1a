"""The commands for physics problems: what they write, what they refuse, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.latex.structure import split_items
from qagen_dagster.loop.problems.code_checks import scan_breaches
from tests.cli.conftest import Command, Play
from tests.support.problems.board import PROFILE
from tests.support.problems.files import pdf, picture, tex
from tests.support.problems.play import IDEAS, classified, item, mcq
from tests.support.wire_server import Call, Fault, Reply, Step, WireServer


@pytest.fixture
def play(play: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Play:
    """The same, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return play


@pytest.fixture
def one(tmp_path: Path) -> Path:
    path = tmp_path / "problem.tex"
    path.write_text(item())
    return path


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "problems.tex"
    path.write_text(tex(5))
    return path


def test_a_picture_is_classified_and_scanned(qagen: Command, play: Play, tmp_path: Path) -> None:
    board = play()
    for name, form in (("a.png", "PNG"), ("b.webp", "WEBP"), ("c.jpg", "JPEG")):
        (tmp_path / name).write_bytes(picture(form))
        found = qagen("classify", "-i", name, "-o", "found.json")
        assert (found.code, found.err.count("error")) == (0, 0)
        assert json.loads(Path("found.json").read_text())["question_type"] == "subjective"
        assert len(board.received[-1].pictures) == 1
    found = qagen("scan", "-i", "a.png", "--type", "mcq_sc", "-o", "a.tex")
    assert found.code == 0, found.err
    assert scan_breaches(Path("a.tex").read_text(), None) == ()
    assert "Kind: mcq_sc" in board.received[-1].user


def test_pages_of_a_pdf_are_problems(qagen: Command, play: Play, tmp_path: Path) -> None:
    board = play()
    (tmp_path / "sheet.pdf").write_bytes(pdf(4))
    found = qagen("scan", "-i", "sheet.pdf", "-r", "2", "3", "--type", "subjective", "--json")
    assert found.code == 0, found.err
    assert [one["id"] for one in found.value["problems"]] == ["sheet-p2", "sheet-p3"]
    assert len(board.received) == 2
    whole = qagen("classify", "-i", "sheet.pdf", "--json")
    assert [one["item"] for one in whole.value] == [1, 2, 3, 4]
    beyond = qagen("classify", "-i", "sheet.pdf", "-r", "4", "5")
    assert beyond.code == 1
    assert "no page 5" in beyond.err


def test_a_range_is_worked_and_nothing_else(qagen: Command, play: Play, many: Path) -> None:
    play()
    out = "variants.tex"
    found = qagen("variant", "-t", str(many), "--type", "numerical", "-r", "2", "4", "-n", "2", "-o", out)
    assert found.code == 0, found.err
    assert len(split_items(Path(out).read_text()).items) == 6
    assert qagen("variant", "-t", str(many), "--type", "numerical", "-r", "4", "2").code == 2
    assert qagen("variant", "-t", str(many), "--type", "numerical", "-r", "6", "9").code == 2


def test_ideas_go_on_into_alternates(qagen: Command, play: Play, one: Path, many: Path) -> None:
    board = play()
    assert qagen("idea", "-t", str(one), "-o", "ideas.json").code == 0
    assert json.loads(Path("ideas.json").read_text())["techniques"]
    told = qagen("alternate", "-t", str(one), "--ideas", "ideas.json", "-n", "2", "-o", "alt.tex")
    assert told.code == 0, told.err
    assert Path("alt.tex").read_text().count("\\begin{solution}") == 2
    assert "constant acceleration" in board.received[-1].user
    assert qagen("idea", "-t", str(many), "-r", "2", "3", "-o", "ideas.json").code == 0
    assert [row["item"] for row in json.loads(Path("ideas.json").read_text())] == [2, 3]
    assert qagen("alternate", "-t", str(many), "-r", "2", "2", "--ideas", "ideas.json").code == 0
    Path("ideas.json").write_text("[1]")
    broken = qagen("alternate", "-t", str(one), "--ideas", "ideas.json")
    assert (broken.code, broken.errors) == (2, ["qagen: error: ideas.json: is not from `qagen idea -o`"])


def test_what_is_done_is_paid_once(qagen: Command, play: Play, many: Path) -> None:
    board = play()
    words = ("process", "-t", str(many), "--variants", "numerical", "context", "--alternate", "-o", "out")
    first = qagen(*words)
    assert first.code == 0, first.err
    calls, before = len(board.received), {path: path.read_bytes() for path in Path("out").rglob("*.*")}
    assert qagen(*words).code == 0
    assert len(board.received) == calls
    assert {path: path.read_bytes() for path in Path("out").rglob("*.*")} == before
    assert {path.name for path in before} >= {
        "bank.json",
        "results.jsonl",
        "items.jsonl",
        "moodle.xml",
        "main.tex",
    }
    rows = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert [set(row["variants"]) for row in rows] == [{"numerical", "context"}] * 5
    assert all(len(row["alternate_solutions"]) == 1 for row in rows)


@pytest.mark.parametrize(
    ("words", "tool", "reply", "number"),
    [
        (("classify", "-i", "a.png"), "submit_classification", classified(question_type="essay"), 1),
        (("classify", "-t", "problem.tex", "--json"), "submit_classification", classified(difficulty="deadly"), 1),
        (("scan", "-i", "a.png", "--type", "subjective"), "submit_scan", {"latex": "\\item no solution"}, 3),
        (("tikz", "-d", "a cart"), "submit_tikz", {"tikz_code": "\\draw (0,0);"}, 4),
        (("idea", "-t", "problem.tex"), "submit_ideas", {"concepts": [], "techniques": ["look"]}, 5),
        (
            ("alternate", "-t", "problem.tex"),
            "submit_alternate",
            {"solution": "\\begin{solution}$v = 3$\\end{solution}", "method": "m", "final_answer": "3"},
            6,
        ),
        (("variant", "-t", "problem.tex", "--type", "numerical"), "submit_variant", {"latex": item()}, 7),
        (("variant", "-t", "problem.tex", "--type", "context"), "submit_variant", {"latex": item()}, 8),
        (
            ("variant", "-t", "problem.tex", "--type", "conceptual"),
            "submit_variant",
            {"latex": "\\item What?\n\\begin{solution}\n\\end{solution}"},
            9,
        ),
        (
            ("variant", "--type", "multi", "--context", "problem.tex", "--context", "problem.tex"),
            "submit_variant",
            {"latex": item()},
            10,
        ),
        (
            ("convert", "-t", "problem.tex", "--from", "subjective", "--to", "mcq_sc"),
            "submit_conversion",
            {"latex": item()},
            11,
        ),
    ],
)  # fmt: skip
def test_a_property_broken_twice_is_an_error_with_its_number(
    qagen: Command,
    play: Play,
    one: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    tool: str,
    reply: dict[str, Any],
    number: int,
) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    board = play(**{tool: reply})
    found = qagen(*words, "-o", "out.file")
    assert found.code == 1
    assert any(
        line.startswith("qagen: error: ") and f"property {number}: " in line for line in found.errors
    ), found.err
    assert len([asked for asked in board.received if tool in asked.tools]) == 2
    assert not Path("out.file").exists()


def test_other_items_are_written_where_one_is_rejected(qagen: Command, play: Play, many: Path) -> None:
    play(submit_variant={"latex": item(9, 12)})
    found = qagen("variant", "-t", str(many), "--type", "numerical", "-r", "3", "4", "-o", "out.tex")
    assert found.code == 1
    assert "problems-04: variant-numerical-1: rejected: property 7" in found.err
    assert len(split_items(Path("out.tex").read_text()).items) == 1


def test_what_cannot_be_made_of_a_problem_is_no_error_of_the_whole(
    qagen: Command, play: Play, one: Path
) -> None:
    play(submit_variant={"reason": "It has no number."})
    said = "problem-01: variant-numerical-1: declined: It has no number."
    whole = qagen("process", "-t", str(one), "--variants", "numerical", "-o", "out")
    assert (whole.code, whole.err.count("qagen: error")) == (0, 0)
    assert whole.err.count(f"qagen: warning: {said}") == 1
    assert whole.out.startswith("problem-01: accepted (original)")
    alone = qagen("variant", "-t", str(one), "--type", "numerical", "-o", "out.tex")
    assert alone.code == 1
    assert f"qagen: error: {said}" in alone.errors
    assert not Path("out.tex").exists()


@pytest.mark.parametrize("command", [r"\undefinedmacro{x}", r"\csname x\endcsname", r"\special{x}"])
def test_an_accepted_problem_that_cannot_be_used_says_so(
    qagen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("PATH", "")  # no TeX engine, wherever this runs
    text = (
        f"\\item A stone falls from a height of $20\\,\\mathrm{{m}}$ {command}. How long does it take?\n"
        "\\begin{solution}$t = \\sqrt{2h/g} = 2\\,\\mathrm{s}$.\\end{solution}\n"
    )
    file = tmp_path / "stone.tex"
    file.write_text(f"\\begin{{enumerate}}\n{text}\\end{{enumerate}}\n")
    out = qagen(
        "process", "-t", str(file), "-o", str(tmp_path / "out"), "--profile", "embedded"
    ).out.splitlines()
    assert out[0] == "stone-01: accepted (original), but it is left out of the TeX project"
    assert out[1].endswith(
        "0 of 1 problems accepted (1 not counted: stone-01 is left out of the TeX project)"
    )


def test_what_is_said_of_many_problems_is_said_once(qagen: Command, play: Play, many: Path) -> None:
    play(submit_variant={"reason": "It has no number."})
    words = ("process", "-t", str(many), "--variants", "numerical", "-o", "out")
    told = "variant-numerical-1: declined: It has no number."
    said = qagen(*words)
    assert said.err.count("declined") == 1
    assert f"qagen: warning: problems-01 and 4 more: {told}" in said.err
    two = qagen(*words, "-r", "2", "3")
    assert [f"problems-0{n}: {told}" in two.err for n in (1, 2, 3)] == [False, True, True]
    assert len(qagen(*words, "--json").value["warnings"]) == 5


def test_an_unsure_classification_is_flagged(qagen: Command, play: Play, one: Path) -> None:
    play(
        submit_classification={
            "question_type": "subjective", "difficulty": "easy", "topic": "Motion", "subtopic": "", "has_diagram": False,
            "confidence": 0.3,
        }
    )  # fmt: skip
    found = qagen("classify", "-t", str(one), "--json")
    assert found.code == 0
    assert found.value["flagged"] is True
    assert "qagen: warning: problem-01: the classification is unsure (confidence 0.3)" in found.err


def test_conversions_have_the_format_that_was_asked_for(qagen: Command, play: Play, tmp_path: Path) -> None:
    play()
    (tmp_path / "mcq.tex").write_text(mcq())
    for target, tasks in (("subjective", False), ("integer", False), ("mcq_mc", True)):
        found = qagen("convert", "-t", "mcq.tex", "--from", "mcq_sc", "--to", target, "-o", f"{target}.tex")
        assert found.code == 0, found.err
        assert ("\\begin{tasks}" in Path(f"{target}.tex").read_text()) is tasks


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("classify",), 2, "give exactly one file"),
        (("scan", "-i", "a.png", "-t", "problem.tex"), 2, "give exactly one file"),
        (("scan", "-i", "gone.png"), 2, "gone.png"),
        (("scan", "-i", "a.gif"), 2, "a.gif: .gif is not supported; supported files: .png, .jpg, .jpeg, .webp, .pdf"),
        (("scan", "-i", "broken.png", "--type", "match"), 1, "broken.png"),
        (("scan", "-i", "problem.tex"), 2, "-t takes .tex files"),
        (("scan", "-t", "empty.tex"), 2, "empty.tex contains no problem"),
        (("idea", "-t", "problem.tex", "-o", "nowhere/x.json"), 2, "nowhere is not a folder"),
        (("tikz",), 2, "an image (-i) or a description (-d)"),
        (("variant", "-t", "problem.tex", "--type", "nonsense"), 2, "nonsense"),
        (("variant", "--type", "multi", "--context", "problem.tex"), 2, "2 to 8 problems"),
        (("variant", "-t", "problem.tex", "--type", "context", "--style", "x"), 2, "--type multi"),
        (("convert", "-t", "problem.tex", "--from", "integer", "--to", "integer"), 2, "both integer"),
        (("process", "-t", "problem.tex", "--variants", "multi", "-o", "out"), 2, "multi"),
        (("process", "-t", "problem.tex", "-o", "problem.tex"), 2, "problem.tex is not a folder"),
        (("process", "-t", "problem.tex", "-o", "problem.tex/out"), 2, "problem.tex is not a folder"),
        (("idea", "-t", "problem.tex", "-o", "."), 2, "it is a folder"),
        (("variant", "--type", "multi", "-i", "a.png", "-t", "problem.tex", "--context", "problem.tex"), 2, "combines TeX files"),
        (("variant", "--type", "multi", "-r", "1", "2", "--context", "problem.tex", "--context", "problem.tex"), 2, "the file of -t"),
        (("classify", "-i", "a.png", "--profile", "blind"), 2, "needs a model that takes images"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line(
    qagen: Command, play: Play, one: Path, tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    board = play()
    for name, data in {
        "a.png": picture(),
        "a.gif": b"GIF89a",
        "broken.png": b"\x89PNG\r\n\x1a\nno",
        "empty.tex": b" \n",
    }.items():
        (tmp_path / name).write_bytes(data)
    blind = (qagen.project.profiles / "remote.yaml").read_text().replace("images: true", "images: false")
    qagen.project.profile("blind", blind)
    found = qagen(*words)
    assert (found.code, len(found.errors)) == (code, 1), found.err
    assert said in found.err
    assert found.err.startswith("qagen: error: ")
    assert board.received == []


def test_a_missing_folder_of_references_is_told_and_left_out(qagen: Command, play: Play) -> None:
    play()
    found = qagen("tikz", "-d", "a cart", "--ref", "nowhere", "-o", "cart.tex")
    assert found.code == 0, found.err
    assert "qagen: warning: nowhere: there is no such folder" in found.err
    assert "\\begin{tikzpicture}" in Path("cart.tex").read_text()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Reply(text="I will read the"), "no_tool_call: I will read the"),
        (Reply(calls=(Call("submit_ideas", {"concepts": {"a": 1}}),)), "faulty_calls: 3 times the same: "),
        (Fault(400, {"error": {"message": "maximum context length is 20"}}), "maximum context length is 20"),
        (Fault(422, {"error": {"message": "not like this"}}), "HTTP 422: not like this"),
        (Fault(200, {"choices": [{"finish_reason": "error", "message": {"content": "I"}}]}), "error"),
    ],
)
def test_a_server_without_a_usable_reply_is_an_error_and_is_asked_again(
    qagen: Command, one: Path, fault: Step, said: str
) -> None:
    with WireServer(then=fault) as server:
        text = PROFILE.replace('"{url}"', '"{url}", max_attempts: 1')
        qagen.project.profile("remote", text.format(url=server.url("openai_compatible")))
        for _ in range(2):
            before = len(server.requests)
            ended = qagen("idea", "--tex", str(one), "--profile", "remote")
            (line,) = [line for line in ended.errors if line.startswith("qagen: error: ")]
            assert (ended.code, said in line) == (1, True)
            assert before < len(server.requests) <= before + 10
        server.follow(lambda _seen, _number: Reply(calls=(Call("submit_ideas", IDEAS),)))
        assert qagen("idea", "--tex", str(one), "--profile", "remote").code == 0


@pytest.mark.parametrize(
    ("words", "tool", "task"),
    [
        (
            ("convert", "--from", "subjective", "--to", "mcq_sc", "-o", "made.tex"),
            "submit_conversion",
            "convert-mcq_sc",
        ),
        (("variant", "--type", "numerical", "-o", "made.tex"), "submit_variant", "variant-numerical-1"),
        (("process", "--convert", "mcq_sc", "-o", "made"), "submit_conversion", "convert-mcq_sc"),
    ],
)
def test_what_a_model_wrote_for_a_rejected_task_is_beside_the_output(
    qagen: Command, play: Play, tmp_path: Path, words: tuple[str, ...], tool: str, task: str
) -> None:
    play(**{tool: {"latex": "\\item Not finished"}})
    (tmp_path / "one.tex").write_text(item())
    found = qagen(words[0], "-t", "one.tex", *words[1:])
    assert found.code == 1, found.err
    (file,) = tmp_path.rglob("*.rejected.txt")
    assert file.name.endswith(f"one-01-{task}.rejected.txt")
    reason, _, raw = file.read_text().partition("\n\n")
    assert reason.startswith("rejected: property ")
    assert "Not finished" in raw
    play()
    assert qagen(words[0], "-t", "one.tex", *words[1:]).code == 0
    assert not file.exists()
