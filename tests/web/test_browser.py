"""The page in a browser: decisions by keyboard, hostile text, exam items, versions, and what axe-core says of it."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from qagen_dagster.loop.exams.bank import gather, publish_bank
from qagen_dagster.loop.figures import Drawing, picture_key
from qagen_dagster.loop.review_decisions import decisions_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.problems.result import ProblemBank
from qagen_dagster.records.questions.published import CorpusGenerationResult, PublishedVerdict
from tests.support import waterworks
from tests.support.chromium import Tab, chromium, needs_chromium
from tests.support.exams.items import hard_item, trolley
from tests.support.exams.mini import accepted, store_part, write_exam
from tests.support.graph import DAGSTER_WARNINGS, DOCUMENTS, QUESTIONS, GraphRun
from tests.support.history_project import history
from tests.support.problems.export import record
from tests.support.problems.play import mcq
from tests.support.project import Project
from tests.support.reviewed import KEY, page, report, reviewed
from tests.support.wire_reader import read
from tests.support.wire_server import WireServer

pytestmark = [*DAGSTER_WARNINGS]
DECISIONS = 50
CRITERIA = (
    "answerable",
    "supported",
    "matches",
    "premise_holds",
    "unambiguous",
    "self_contained",
    "non_trivial",
    "relevant",
)
UNJUDGED = ("supported", "premise-holds", "self-contained", "non-trivial", "relevant")
FIGURE = "\\begin{tikzpicture}\n\n\\draw (0,0) -- (2,0);\n\\end{tikzpicture}"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGNgYPiPBw0taYb/AOU+Y52zyqm7AAAAAElFTkSuQmCC"
)
AXE = Path(__file__).parent / "browser" / "node_modules" / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="there is no axe-core: `make browser` installs it")


def count(tab: Tab) -> str:
    return tab.run("byId('progress').textContent")


def with_exam(space: Workspace, item: ExamItem | None = None) -> Workspace:
    """The project with an exam of one item, by default one whose formulas have everything."""
    write_exam(space.settings.corpora)
    store_part(space, "mini/M1/hard", lambda plan, slot: accepted(plan, slot, item or hard_item(), None))
    publish_bank(space, "mini", "run")
    return space


def serious(tab: Tab) -> list[str]:
    """What axe-core calls serious or critical on the page."""
    if not tab.run("'axe' in window"):
        tab.run(f"{AXE.read_text(encoding='utf-8')}; null")
    return tab.run(
        "axe.run().then((found) => found.violations.filter((one) => ['serious', 'critical'].includes(one.impact))"
        ".map((one) => one.id + ': ' + one.nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))"
    )


@needs_chromium
def test_decisions_by_keyboard_survive_a_restart(tmp_path: Path) -> None:
    space = reviewed(tmp_path / "project", documents=20)
    with chromium(tmp_path / "browser") as tab:
        with page(space) as address:
            tab.open(address)
            for done in range(1, DECISIONS - 1):
                tab.press("a")
                tab.wait(f"byId('progress').textContent.startsWith('{done} judged') && !sending")
            tab.press("e")
            tab.wait("byId('edit-dialog').open")
            tab.run("byId('edit-answer').select()")
            tab.type("eleven bar")
            tab.press("Enter", ctrl=True)
            tab.wait(f"byId('progress').textContent.startsWith('{DECISIONS - 1} judged') && !sending")
            tab.press("r")
            tab.wait("byId('reason-dialog').open")
            tab.press("3")
            tab.press("Enter", ctrl=True)
            tab.wait(f"byId('progress').textContent.startsWith('{DECISIONS} judged') && !sending")
        with page(space) as address:
            tab.open(address)
            assert count(tab) == "50 judged by you, 50 of 60 by anyone"
            tab.press("u")
            tab.wait("byId('progress').textContent.startsWith('49 judged')")
            assert tab.run("stateOf(list.row)") == "unreviewed"
    last = [some[-1] for some in decisions_of(space, KEY.key).values()]
    assert [one.new_answer for one in last if one.new_answer] == ["eleven bar"]
    assert sorted({one.action.value for one in last}) == ["accept", "edit", "undo"]
    rejected = [
        one for some in decisions_of(space, KEY.key).values() for one in some if one.action.value == "reject"
    ]
    assert [one.reason for one in rejected] == ["ambiguous"]


@needs_chromium
def test_criteria_that_nobody_judged_are_shown_so(tmp_path: Path) -> None:
    space = reviewed(tmp_path / "project", documents=1, questions=2)
    given = {
        "blind_answer": "10 bar",
        "explanation": "embedded:reader compared",
        **dict.fromkeys(CRITERIA, True),
    }
    verdict = PublishedVerdict.model_validate(given | {"unambiguous": False})
    key = CorpusGenerationResult.key(KEY)
    published = space.store.read(key, CorpusGenerationResult)
    questions = tuple(one.model_copy(update={"verdict": verdict}) for one in published.questions)
    space.store.write(key, published.model_copy(update={"questions": questions}))
    file = tmp_path / "report.html"
    file.write_text(report(space), encoding="utf-8")
    with chromium(tmp_path / "browser") as tab, page(space) as address:
        for opened in (address, file.as_uri()):
            tab.open(opened)
            tab.wait("document.querySelector('.criteria .chip')")
            chips = tab.run(
                "[...document.querySelectorAll('.criteria .chip')].map((one) => [one.className, one.textContent])"
            )
            assert {text: kind for kind, text in chips} == {
                **dict.fromkeys(("✓ answerable", "✓ matches"), "chip yes"),
                "✗ unambiguous": "chip no",
                **dict.fromkeys((f"not judged: {name}" for name in UNJUDGED), "chip unjudged"),
            }


@needs_chromium
def test_questions_of_people_are_marked_and_found(tmp_path: Path) -> None:
    space = reviewed(tmp_path / "project", documents=1, questions=2)
    key = CorpusGenerationResult.key(KEY)
    published = space.store.read(key, CorpusGenerationResult)
    asked, made = published.questions
    asked = asked.model_copy(update={"origin": "imported"})
    space.store.write(key, published.model_copy(update={"questions": (made, asked)}))
    file = tmp_path / "report.html"
    file.write_text(report(space), encoding="utf-8")
    with chromium(tmp_path / "browser") as tab:
        tab.open(file.as_uri())
        tab.run("list.inputs.origin.value = 'imported', list.apply()")
        assert tab.run("list.shown.map((row) => row.id)") == [asked.id]
        for place in ("#rows .row-about", "#detail .chip"):
            tab.wait(f"document.querySelector('{place}')")
            texts = f"[...document.querySelectorAll('{place}')].map((one) => one.textContent).join(' · ')"
            assert "imported" in tab.run(texts).split(" · ")


@needs_chromium
def test_hostile_text_stays_text_also_in_a_report(tmp_path: Path) -> None:
    space = reviewed(tmp_path / "project")
    file = tmp_path / "report.html"
    file.write_text(report(space), encoding="utf-8")
    with chromium(tmp_path / "browser") as tab, page(space) as address:
        for opened in (address, file.as_uri()):
            tab.open(opened)
            tab.run("list.reset(); list.select(list.shown.findIndex((row) => row.outcome === 'rejected'))")
            tab.wait("document.querySelector('mark')")
            shown = tab.run("byId('detail').textContent")
            assert "</script><img src=x onerror=alert(1)> \\u202eevil\\u202c" in shown
            assert "\u202e" not in shown
            assert tab.run("document.querySelectorAll('#detail a, #detail img').length") == 0
        assert tab.run("byId('actions').hidden") is True


def with_problem(space: Workspace) -> Workspace:
    """The project with a problem with a figure, as it was drawn."""
    drawn = mcq().replace("A cart", f"{FIGURE}\nA cart")
    one = record(drawn)
    space.store.write(
        ProblemBank.file_key("motion", "bank.json"),
        ProblemBank(name="motion", title="Motion", problems=(one,)),
    )
    folder = space.settings.corpora / "problems" / "motion"
    (folder / "sources").mkdir(parents=True)
    (folder / "sources" / "a.tex").write_text(drawn)
    (folder / "problems.yaml").write_text("name: Motion\nsources: [{file: a.tex}]\n")
    space.store.write_bytes(picture_key(Drawing("").picture(FIGURE)), PNG)
    return space


def edit_field(tab: Tab, field: str, old: str, new: str) -> None:
    tab.press("e")
    tab.wait("byId('edit-dialog').open")
    place = f"byId('edit-fields').querySelector('[name=\"{field}\"]')"
    tab.run(f"{place}.value = {place}.value.replace({old!r}, {new!r})")


@needs_chromium
def test_an_exam_item_is_edited_refused_and_undone(tmp_path: Path) -> None:
    space = with_exam(reviewed(tmp_path / "project"), trolley())
    with chromium(tmp_path / "browser") as tab, page(space) as address:
        tab.open(f"{address}#set=exams/mini")
        tab.wait("document.querySelector('.entry.yes math')")
        assert tab.run("document.querySelectorAll('#rows .row-question math').length") == 2
        assert tab.run("document.querySelectorAll('#rows .row-answer math').length") == 1
        edit_field(tab, "question.stem", "$3", "$5")
        tab.press("Enter", ctrl=True)
        tab.wait(
            "byId('edit-refusal').textContent.includes('the form gives 10 kg m / s, which no option is')"
        )
        assert tab.run("byId('edit-dialog').open"), "a refused edit stays in the dialog"
        stem = "byId('edit-fields').querySelector('[name=\"question.stem\"]').value"
        assert "$5" in tab.run(stem)
        tab.press("Escape")
        tab.wait("!byId('edit-dialog').open")
        edit_field(tab, "question.stem", "$3", "$4")
        tab.run(
            "byId('edit-fields').querySelector('[name=\"distractor_map.A\"]').value = 'the speed was read as three'"
        )
        tab.press("Enter", ctrl=True)
        tab.wait("!byId('edit-dialog').open && byId('decisions').textContent.includes('B: $8')")
        assert tab.run("stateOf(list.row)") == "edited"
        tab.press("e")
        tab.wait("byId('edit-dialog').open")
        assert "$4" in tab.run(stem), "a further edit begins with the edited texts"
        tab.press("Escape")
        (shown,) = gather(space, "mini").bank.items
        assert (shown.id, shown.question.correct_option) == (trolley().id, "B")
        tab.wait("!byId('edit-dialog').open")
        tab.press("u")
        tab.wait("stateOf(list.row) === 'unreviewed'")
        assert gather(space, "mini").bank.items == (trolley(),)


@needs_chromium
def test_a_problem_shows_its_figure_and_is_edited(tmp_path: Path) -> None:
    space = with_problem(reviewed(tmp_path / "project"))
    file = tmp_path / "report.html"
    file.write_text(report(space), encoding="utf-8")
    with chromium(tmp_path / "browser") as tab, page(space) as address:
        for opened in (file.as_uri(), address):
            tab.open(f"{opened}#set=problems/motion")
            for width, height in ((1400, 900), (360, 740)):
                tab.picture(width, height)
                tab.run("showDetail()")
                tab.wait(
                    "document.querySelector('#detail .entry img')?.naturalWidth > 0 && document.querySelector('#detail math')"
                )
                box = tab.run(
                    "(({ width, height }) => [width, height])(document.querySelector('#detail .entry img').getBoundingClientRect())"
                )
                assert 0 < box[0] <= width
                assert tab.run("document.documentElement.scrollWidth") == width
        assert tab.run("document.querySelector('#detail .entry img').alt").startswith(
            "A cart starts from rest"
        )
        edit_field(tab, "LaTeX", "A cart", "A trolley")
        tab.press("Enter", ctrl=True)
        tab.wait("!byId('edit-dialog').open && byId('decisions').textContent.includes('A trolley starts')")


@needs_chromium
def test_markup_keeps_only_what_shows_something(tmp_path: Path) -> None:
    with chromium(tmp_path / "browser") as tab, page(reviewed(tmp_path / "project")) as address:
        tab.open(address)
        hostile = (
            '<p onclick="x()">a<script>b</script><a href="javascript:c">c</a></p>'
            '<math xmlns="http://www.w3.org/1998/Math/MathML" href="d" onload="d"><mi style="e" mathvariant="bold">e</mi>'
            "<maction>f</maction><annotation-xml><p>g</p></annotation-xml></math>"
        )
        shown = tab.run(f"element('div', {{}}, markup({hostile!r})).outerHTML")
        assert shown == '<div><p>abc</p><math><mi mathvariant="bold">e</mi>fg</math></div>'


@needs_chromium
def test_two_reviewers_see_each_other_and_where_they_disagree(tmp_path: Path) -> None:
    space = reviewed(tmp_path / "project")
    with page(space) as address, chromium(tmp_path / "one") as ann, chromium(tmp_path / "two") as bo:
        for tab in (ann, bo):
            tab.open(address)
        bo.run("byId('reviewer').value = 'bo'")
        ann.press("a")
        ann.wait("!sending && list.at === 1")
        bo.press("f")
        bo.wait("byId('reason-dialog').open")
        bo.press("Enter", ctrl=True)
        bo.wait("!sending && list.at === 1")
        ann.run("poll()")
        ann.wait("byId('progress').textContent.endsWith('1 disagreed')")
        ann.press("g")
        ann.wait("byId('agreement').textContent.includes('They disagree on')")
        ann.run("document.querySelector('#agreement .link').click()")
        ann.wait("byId('decisions').textContent.includes('bo: flag')")


@needs_chromium
def test_a_sample_is_the_same_for_all_and_the_address_leads_back(tmp_path: Path) -> None:
    with page(reviewed(tmp_path / "project", documents=5)) as address, chromium(tmp_path / "browser") as tab:
        tab.open(address)
        tab.run("list.sample.value = 4; list.apply()")
        assert tab.run("list.shown.map((row) => row.place)") == [1, 2, 3, 4]
        tab.run("list.select(2)")
        chosen, link = tab.run("[list.row.id, location.href]")
        tab.send("Page.navigate", url="about:blank")
        tab.open(link)
        assert tab.run("list.row.id") == chosen


@needs_chromium
@needs_axe
def test_axe_finds_nothing_serious(tmp_path: Path) -> None:
    space = with_problem(with_exam(reviewed(tmp_path / "project")))
    file = tmp_path / "report.html"
    file.write_text(report(space), encoding="utf-8")
    with chromium(tmp_path / "browser") as tab, page(space) as address:
        for opened, dark in ((address, False), (address, True), (file.as_uri(), False)):
            tab.picture(1400, 900, dark=dark)
            tab.send("Page.navigate", url="about:blank")
            tab.open(opened)
            tab.wait("document.querySelector('mark')")
            assert serious(tab) == []
            for key in "er?gv" if opened == address else "?g":
                tab.press(key)
                tab.wait("document.querySelector('dialog[open]')")
                assert serious(tab) == []
                tab.press("Escape")
                tab.wait("!document.querySelector('dialog[open]')")
            for kind in ("exams/", "problems/"):
                tab.run(f"list.select(list.rows.findIndex((row) => row.set_key.startsWith('{kind}')))")
                tab.wait("document.querySelector('math')")
                assert serious(tab) == []
            if opened == address:
                tab.press("e")
                tab.wait("byId('edit-fields').querySelector('[name=LaTeX]')")
                assert serious(tab) == []
                tab.press("Escape")
        tab.picture(360, 740)
        assert serious(tab) == []
        tab.run("showDetail()")
        assert serious(tab) == []
        assert tab.run("document.documentElement.scrollWidth") == 360


@needs_chromium
def test_versions_stand_side_by_side_and_costs_can_be_sorted(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    space = Workspace(history(tmp_path_factory).project.settings())
    with page(space, read_only=True) as address, chromium(tmp_path / "browser") as tab:
        tab.open(address)
        tab.run("list.reset(); list.order.value = 'usd'; list.apply()")
        costs = tab.run("list.shown.map((row) => row.usd ?? -1)")
        assert costs == sorted(costs, reverse=True)
        assert costs[0] > 0
        assert "$0.00" in tab.run("document.querySelector('.row-about').textContent")
        tab.press("v")
        tab.wait("byId('versions').textContent.includes('questions in both')")
        tab.run("byId('first-version').value = 1; byId('first-version').onchange()")
        tab.wait("document.querySelector('#versions th:nth-child(2)').textContent === 'version 1'")
        both = tab.run(
            "[...document.querySelectorAll('#versions [aria-label=Questions] tbody tr')].map((row) =>"
            " [...row.cells].slice(1).map((cell) => Boolean(cell.textContent)))"
        )
        assert both
        assert all(any(sides) for sides in both)
        assert tab.run("byId('actions').hidden") is True


@needs_chromium
def test_decisions_apply_to_the_set_of_another_model(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus(KEY.corpus, waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    space = Workspace(project.settings())
    with WireServer(waterworks.answer) as server, chromium(tmp_path / "browser") as tab:
        made_by(project, "asker", server)
        with page(space) as address:
            tab.open(address)
            edited, rejected = tab.run("list.shown.map((row) => row.question)")
            tab.press("e")
            tab.wait("byId('edit-dialog').open")
            tab.run("byId('edit-question').select()")
            tab.type(f"Briefly: {edited}")
            tab.press("Enter", ctrl=True)
            tab.wait("!sending && list.at === 1")
            tab.press("r")
            tab.wait("byId('reason-dialog').open")
            tab.press("4")
            tab.press("Enter", ctrl=True)
            tab.wait("byId('progress').textContent.startsWith('2 judged') && !sending")
            asked = len(server.requests)
            made_by(project, "another", server)
            tab.run("poll()")
            tab.wait("byId('message').textContent.startsWith('A set was made again')")
            tab.open(f"{address}?")
            shown = dict(tab.run("list.shown.map((row) => [row.question, row.model])"))
            lost = tab.run("list.rows.filter((row) => row.reason).map((row) => [row.question, row.reason])")
    assert set(shown.values()) == {"openai_compatible:another"}
    assert f"Briefly: {edited}" in shown
    assert not shown.keys() & {edited, rejected}
    assert lost == [[edited, "edited_by_reviewer"]]
    later = [(read(one).role, str(one.body)) for one in server.requests[asked:]]
    assert "validator" in [role for role, text in later if f"Briefly: {edited}" in text]
    assert "generator" in [role for role, text in later if "rejected_by_reviewer: trivial" in text]


def made_by(project: Project, model: str, server: WireServer) -> None:
    """Make the set again, with other models."""
    url = server.url("openai_compatible")
    roles = "".join(
        f'  {role}: {{provider: openai_compatible, model: {name}, base_url: "{url}"}}\n'
        for role, name in (("generator", model), ("validator", f"{model}-judge"), ("deduplicator", "twin"))
    )
    project.profile(model, f"roles:\n{roles}")
    with GraphRun(project, profile=model) as graph:
        assert graph.materialize(KEY.corpus, *DOCUMENTS).success
        assert graph.materialize(KEY.key, *QUESTIONS).success
