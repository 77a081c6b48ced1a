"""JATS articles: front matter and authors, sections, floats, formulae, references, and what must not be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParsedText, ParseOptions, RowFailure, Source
from qagen_dagster.formats.jats.reader import JatsFormat
from qagen_dagster.records.document import Outcome, Visual, VisualType


def test_contributors_of_the_type_person_are_authors_unless_their_group_is_another() -> None:
    person = '<contrib contrib-type="person"><name><surname>{}</surname></name></contrib>'
    groups = (("", "Finch"), (' content-type="authors"', "Wren"), (' content-type="reviewers"', "Nobody"))
    told = "".join(f"<contrib-group{kind}>{person.format(name)}</contrib-group>" for kind, name in groups)
    meta = f"<article-meta><title-group><article-title>T</article-title></title-group>{told}</article-meta>"
    assert parse(article("<p>Body.</p>", front=meta)).metadata.authors == ("Finch", "Wren")


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


OPTIONS = ParseOptions()
NS = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML"'
META = """<article-meta>
  <article-id pub-id-type="pmid">1</article-id><article-id pub-id-type="doi">10.1/gauge</article-id>
  <title-group><article-title>Of <italic>tides</italic> and
    gauges</article-title><subtitle>A survey</subtitle></title-group>
  <contrib-group>
    <contrib contrib-type="author"><name><surname>Lovelace</surname><given-names>Ada</given-names>
      <suffix>Jr</suffix></name></contrib>
    <contrib contrib-type="author"><collab>The Tide Group<contrib-group><contrib><name>
      <surname>X</surname></name></contrib></contrib-group></collab></contrib>
    <contrib contrib-type="editor"><name><surname>Nobody</surname></name></contrib>
  </contrib-group>
  <pub-date pub-type="collection"><year>2019</year></pub-date>
  <pub-date pub-type="epub"><day>4</day><month>July</month><year>2020</year></pub-date>
  <abstract abstract-type="toc"><p>Short form.</p></abstract>
  <abstract><p>Tides rise.<xref ref-type="fn"/></p><p>DOI: http://dx.doi.org/10.1/x</p></abstract>
  <kwd-group><kwd>tide</kwd><kwd>gauge</kwd></kwd-group>
</article-meta>"""


def article(body: str = "", back: str = "", front: str = META, more: str = "") -> str:
    body = f"<body>{body}</body>" if body else ""
    return f'<article xml:lang="en" {NS}><front>{front}</front>{body}<back>{back}</back>{more}</article>'


def parse(xml: str | bytes) -> ParsedText:
    data = xml if isinstance(xml, bytes) else xml.encode()
    entry = JatsFormat().parse(Source("a.xml", data), OPTIONS)[0]
    assert isinstance(entry, ParsedText)
    return entry


def lines(body: str) -> list[str]:
    """The lines a body gives, without the front matter and empty lines."""
    text = parse(article(body)).text.split("Keywords: tide, gauge\n", 1)[1]
    return [line for line in text.split("\n") if line]


def visuals(body: str) -> tuple[Visual, ...]:
    return JatsFormat().visuals(Source("a.xml", article(body).encode()), None, OPTIONS)


def test_front_matter_is_metadata_and_text() -> None:
    entry = parse(article("<p>Body.</p>"))
    found = entry.metadata
    assert found.title == "Of tides and gauges: A survey"
    assert found.authors == ("Ada Lovelace Jr", "The Tide Group")
    assert (found.date, found.doi, found.language) == ("2020-07-04", "10.1/gauge", "en")
    assert found.abstract == "Tides rise."
    assert entry.text.split("\n") == [
        "Of tides and gauges: A survey",
        "",
        "Ada Lovelace Jr, The Tide Group",
        "",
        "Abstract",
        "",
        "Tides rise.",
        "",
        "In brief",
        "",
        "Short form.",
        "",
        "Keywords: tide, gauge",
        "",
        "Body.",
    ]


def test_an_accepted_manuscript_is_its_abstract() -> None:
    assert "Tides rise." in parse(article()).text


def test_sections_nest_and_stand_on_their_lines() -> None:
    entry = parse(
        article(
            "<sec><label>1</label><title>Results</title><p>a</p>"
            "<sec><title>Deep <sup>13</sup>C</title><p>b</p></sec><sec><title>Empty</title></sec></sec>",
            back="<ack><p>Thanks.</p></ack><ref-list><ref><mixed-citation>Cited.</mixed-citation></ref>"
            "</ref-list><app-group><app><title>Appendix</title><p>c</p></app></app-group>",
        )
    )
    found = [(one.title, one.level) for one in entry.sections]
    assert found == [
        ("Abstract", 1),
        ("In brief", 1),
        ("1 Results", 1),
        ("Deep 13C", 2),
        ("Acknowledgements", 1),
        ("Appendix", 1),
        ("References", 1),
    ]
    text = entry.text.split("\n")
    assert all(text[one.start_line - 1] == one.title for one in entry.sections)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("See (<xref>Figure 1</xref>) , and\n <italic>that</italic> .", "See (Figure 1), and that."),
        ("10<sup>-5</sup> m<sup>2</sup> of H<sub>2</sub>O", "10^-5 m^2 of H2O"),
        ("the 1<sup>st</sup> of <sup>14</sup>C at 90<sup>o</sup>", "the 1st of 14C at 90°"),
        ('known<sup><xref ref-type="bibr">3</xref></sup>.', "known [3]."),
        ("e<sup>a + b</sup>", "e^(a + b)"),
        ("p = .05 ; q", "p = .05; q"),
        ("a<!-- no -->b<?pi x?>c &alpha;&ndash;&#946;", "abc \u03b1\u2013\u03b2"),
        ("gone [<xref/>] and ( ; ) here, f() not", "gone and here, f() not"),
        ("5 <inline-graphic xlink:href='x'/>g", "5 \ufffdg"),
        ("5 <inline-graphic><alt-text>\u03bc</alt-text></inline-graphic>g", "5 \u03bcg"),
        ("<private-char><glyph-data/></private-char>x", "\ufffdx"),
        ("an <inline-formula><graphic xlink:href='x'/></inline-formula> angle", "an \ufffd angle"),
        ('in 2010<xref ref-type="bibr">12</xref> and', "in 2010^12 and"),
        ('is 25<xref ref-type="fn">2</xref> mg', "is 25^2 mg"),
        ('30.1<xref ref-type="table-fn">a</xref>', "30.1^a"),
        ('25<xref ref-type="bibr"><sup>2</sup></xref> mg', "25^2 mg"),
        ('in 5.<xref ref-type="bibr">12</xref> We', "in 5.^12 We"),
        ('5<xref ref-type="bibr">1</xref>,<xref ref-type="bibr">3</xref>', "5^1,3"),
        ('beds<xref ref-type="fn">\u2020</xref>', "beds\u2020"),
        ('by <xref ref-type="bibr">12</xref> and [<xref ref-type="bibr">3</xref>]', "by 12 and [3]"),
        ('Figure <xref ref-type="fig">3</xref>', "Figure 3"),
        ("of 10,<sup>2</sup> in", "of 10,^2 in"),
        ("2<sup>1</sup>/<sub>2</sub> mg", "2 1/2 mg"),
        ("101<sub>2</sub> and H<sub>2</sub>O", "101_2 and H2O"),
        ("soft\u00adhyphen <italic>zero\u200bwidth</italic>", "softhyphen zerowidth"),
        ("thin\u2009space and\u00a0hard", "thin space and hard"),
        ("in 2010<xref rid='r3'>3</xref> and", "in 2010^3 and"),
        ("x<sup><italic>n</italic>+1</sup> and 9<sup>1/2</sup>", "x^(n+1) and 9^(1/2)"),
        ("<inline-formula>x = <italic>y</italic> + 5</inline-formula>", "x = y + 5"),
        ("<inline-formula>b<sub>2</sub> = 10<sup>-3</sup> mg</inline-formula>", "b2 = 10^-3 mg"),
        ("<inline-formula>x = <mml:math><mml:mn>5</mml:mn></mml:math> mg</inline-formula>", "x = 5 mg"),
        (
            "<inline-formula><alternatives><inline-graphic/><textual-form>5 mg</textual-form></alternatives></inline-formula>",
            "5 mg",
        ),
        ("<tex-math>a % was 7\n = \\left.5\\right|</tex-math> \\%", "$a = 5|$ \\%"),
        ("at &#150;5 and &#x85;", "at \u20135 and"),
        ("pages 10-12.<pub-id pub-id-type='doi'>10.1/x</pub-id>", "pages 10-12. 10.1/x"),
    ],
)
def test_running_text_reads_well(markup: str, text: str) -> None:
    assert lines(f"<p>{markup}</p>") == [text]


def test_paragraphs_go_on_after_formulae_and_lists_and_floats_come_after() -> None:
    body = (
        "<p>Before <fig><label>Fig 1.</label><caption><p>Seen.</p></caption></fig>the sum:"
        "<disp-formula><label>(7)</label><tex-math>\\begin{document}$$a+b$$\\end{document}</tex-math>"
        "</disp-formula>where a is<list><list-item><p>one</p></list-item><list-item><p>two</p></list-item>"
        "</list>or else.</p>"
    )
    assert lines(body) == [
        "Before the sum:",
        "$a+b$ (7)",
        "where a is",
        "- one",
        "- two",
        "or else.",
        "Fig 1. Seen.",
    ]
    assert [(one.label, one.type) for one in visuals(body)] == [
        ("Equation 7", VisualType.FORMULA),
        ("Figure 1", VisualType.FIGURE),
    ]


def test_lists_are_numbered_and_nested() -> None:
    body = (
        '<list list-type="order"><list-item><p>one</p><p>more</p></list-item><list-item><p>two</p>'
        "<list><list-item><p>inner</p></list-item></list></list-item></list>"
        "<list><list-item><label>(a)</label><p>own mark</p></list-item></list>"
        "<def-list><def-item><term>TAS</term><def><p>survey</p></def></def-item></def-list>"
    )
    assert lines(body) == ["1. one", "   more", "2. two", "  - inner", "(a) own mark", "TAS: survey"]


def test_items_that_are_no_plain_paragraph_keep_their_content() -> None:
    body = (
        "<list><list-item><p>Before <disp-formula><tex-math>x = 1</tex-math></disp-formula> after</p></list-item>"
        "<list-item><code>ls -l</code><p>plain</p></list-item>"
        "<list-item><def-list><def-item><term>TAS</term><def><p>survey</p></def></def-item></def-list></list-item>"
        "</list>"
    )
    assert lines(body) == ["- Before", "$x = 1$", "after", "ls -l", "  plain", "TAS: survey"]


TABLE = """<table-wrap><label>Table 2.</label><caption><title>Depths</title><p>By station.</p></caption>
<table><thead>
<tr><th rowspan="2">Station</th><th colspan="2">Depth | m</th></tr><tr><th>low</th><th>high</th></tr>
</thead><tbody>
<tr><td rowspan="2">A</td><td>1</td><td>2<sup>a</sup></td></tr><tr><td>3</td><td/></tr>
<tr><td colspan="3">Estimates</td></tr><tr><td>B</td><td><p>5</p><p>6</p></td><td>7</td></tr>
</tbody></table>
<table-wrap-foot><fn><p><sup>a</sup>Uncertain.</p></fn><fn><label>*</label><p>p &lt; 0.05</p></fn>
</table-wrap-foot></table-wrap>"""


def test_tables_are_rows_of_text() -> None:
    assert lines(TABLE) == [
        "Table 2. Depths By station.",
        "| Station | Depth \\| m / low | Depth \\| m / high |",
        "|---|---|---|",
        "| A | 1 | 2^a |",
        "| A | 3 |  |",
        "| Estimates |  |  |",
        "| B | 5; 6 | 7 |",
        "^a Uncertain.",
        "* p < 0.05",
    ]


def test_visuals_know_their_lines_and_pictures() -> None:
    body = (
        f"<sec><title>S</title>{TABLE}<fig-group><fig><label>Figure 1.</label><caption><title>T</title></caption>"
        "<graphic xlink:href='f1.tif'/></fig><fig><label>Figure 1\u2014figure supplement 1.</label>"
        "<caption><title>U</title></caption></fig></fig-group>"
        "<table-wrap><table><tr><td>x</td></tr></table></table-wrap>"
        "<table-wrap><label>Table 2</label><graphic xlink:href='t2.png'/></table-wrap></sec>"
    )
    found = visuals(body)
    text = parse(article(body)).text.split("\n")
    assert [one.label for one in found] == [
        "Table 2",
        "Figure 1",
        "Figure 1\u2014figure supplement 1",
        f"table at line {found[3].start_line}",
        "Table 2 (2)",
    ]
    assert (found[0].caption, found[1].reference, found[4].reference) == (
        "Table 2. Depths By station.",
        "f1.tif",
        "t2.png",
    )
    for one in found:
        assert one.start_line is not None
        assert one.end_line is not None
    block = text[(found[0].start_line or 0) - 1 : found[0].end_line]
    assert (block[0], block[-1]) == ("Table 2. Depths By station.", "* p < 0.05")


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<mml:msup><mml:mi>x</mml:mi><mml:mn>2</mml:mn></mml:msup>", "x^2"),
        (
            "<mml:mfrac><mml:mrow><mml:mi>a</mml:mi><mml:mo>+</mml:mo><mml:mi>b</mml:mi></mml:mrow>"
            "<mml:mn>2</mml:mn></mml:mfrac>",
            "(a + b)/2",
        ),
        ("<mml:msqrt><mml:mi>x</mml:mi></mml:msqrt>", "sqrt(x)"),
        ("<mml:msubsup><mml:mi>s</mml:mi><mml:mi>i</mml:mi><mml:mn>2</mml:mn></mml:msubsup>", "s_i^2"),
        ("<mml:mover><mml:mi>x</mml:mi><mml:mo>\u00af</mml:mo></mml:mover>", "x\u0304"),
        ("<mml:mfenced><mml:mi>a</mml:mi><mml:mi>b</mml:mi></mml:mfenced>", "(a, b)"),
        ("<mml:semantics><mml:mi>y</mml:mi><mml:annotation>noise</mml:annotation></mml:semantics>", "y"),
        (
            "<mml:mtable><mml:mtr><mml:mtd><mml:mi>a</mml:mi></mml:mtd></mml:mtr>"
            "<mml:mtr><mml:mtd><mml:mi>b</mml:mi></mml:mtd></mml:mtr></mml:mtable>",
            "a; b",
        ),
    ],
)
def test_mathml_is_written_in_a_line(formula: str, text: str) -> None:
    assert lines(f"<p><inline-formula><mml:math>{formula}</mml:math></inline-formula></p>") == [text]


def test_struck_out_text_is_left_out_and_counted() -> None:
    entry = parse(article("<p>The dose was <strike>20</strike> 10 mg.</p>"))
    assert entry.text.endswith("The dose was 10 mg.")
    assert entry.detail == "parts struck out and left out (1): 20"


def test_lists_of_terms_and_arrays_keep_their_text() -> None:
    body = (
        "<list><title>Doses</title><list-item><p>5 mg</p></list-item></list>"
        "<def-list><def-item><term>A</term><term>B</term><def><p>one<list><list-item><p>two</p></list-item></list></p></def>"
        "</def-item></def-list><array><tbody><tr><td>1</td><td>2</td></tr></tbody></array>"
    )
    assert lines(body) == ["Doses", "- 5 mg", "A, B: one two", "| 1 | 2 |"]


def test_tex_is_preferred_and_loses_its_wrapping() -> None:
    body = (
        "<p><inline-formula><alternatives><mml:math><mml:mi>q</mml:mi></mml:math><tex-math>"
        "\\documentclass[12pt]{minimal}\\usepackage{amsmath}\\begin{document}"
        "\\begin{eqnarray}\\displaystyle \\left( x \\right)\\end{eqnarray}\\end{document}"
        "</tex-math></alternatives></inline-formula></p>"
    )
    assert lines(body) == ["$(x)$"]


def test_references_are_one_line_each() -> None:
    element = (
        '<element-citation><person-group person-group-type="author"><name><surname>King</surname>'
        "<given-names>N</given-names></name><etal/></person-group><year>2004</year>"
        "<article-title>On gauges.</article-title><source>Tides</source><volume>3</volume><issue>2</issue>"
        '<fpage>10</fpage><lpage>19</lpage><pub-id pub-id-type="doi">10.1/k</pub-id></element-citation>'
    )
    mixed = (
        "<mixed-citation><name><surname>Moss</surname><given-names>A</given-names></name>. Waves. 1999. "
        '<pub-id pub-id-type="pmid">123</pub-id></mixed-citation>'
    )
    back = f"<ref-list><ref><label>1.</label>{element}</ref><ref>{mixed}</ref></ref-list>"
    assert parse(article("<p>x</p>", back)).text.split("\n")[-2:] == [
        "1. King N, et al (2004). On gauges. Tides 3(2):10-19. doi:10.1/k",
        "Moss A. Waves. 1999.",
    ]


def test_sub_articles_have_their_own_headings() -> None:
    more = (
        '<sub-article article-type="decision-letter"><front-stub><title-group><article-title>Decision'
        "</article-title></title-group></front-stub><body><p>Accept.</p></body></sub-article>"
        '<sub-article article-type="reply"><body><p>Thanks.</p></body></sub-article>'
    )
    entry = parse(article("<p>x</p>", more=more))
    assert entry.text.endswith("Decision\n\nAccept.\n\nAuthor response\n\nThanks.")


def test_code_keeps_its_lines() -> None:
    assert "for x:\n    do(x)" in parse(article("<code>for x:\n\tdo(x)\n</code>")).text


BOMB = (
    '<!DOCTYPE article [<!ENTITY a0 "hahahahaha">'
    + "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    + "]>"
)
OUTSIDE = '<!DOCTYPE article [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
REMOTE = '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS//EN" "http://127.0.0.1:9/x.dtd">'


def test_other_files_and_dtds_are_not_read() -> None:
    for before, name in (
        (OUTSIDE, "x"),
        (REMOTE, "unheard"),
        (OUTSIDE[:-2] + "<!ENTITY % p SYSTEM 'p'>%p;]>", "x"),
    ):
        entry = parse(before + article(f"<p>x &{name}; y &alpha;</p>"))
        assert entry.text.endswith("x \ufffd y \u03b1")
        assert entry.detail == (f"1 sign without a text, shown as U+FFFD; unknown entities (1): &{name};")


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        ("10 &mgr;g and 5 k&OHgr;", "10 \u03bcg and 5 k\u03a9"),
        ("&b.mu;m, &thgr;, &eeacgr;, &THgr;", "\u03bcm, \u03b8, \u03ae, \u0398"),
        ("&Copf;&fflig;&gcaron;", "\u2102\ufb00\u01e7"),
        ("&river; and &wide;", "Torvik River and Torvik River H2O"),
        ("5 &le; 6 &amp; 7", "5 \u2264 6 & 7"),
        ("<![CDATA[R&mgr;D]]>", "R&mgr;D"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_named_characters_and_entities_of_the_file_are_read(entity: str, text: str, encoding: str) -> None:
    own = '<!-- <!ENTITY mgr "kilo"> --><!ENTITY\n river\t"Torvik River"\n><!ENTITY wide "&river; H<sub>2</sub>O">'
    xml = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE article PUBLIC "-//NLM" "a.dtd" [{own}]\n  >'
    entry = parse((xml + article(f"<p>{entity}</p>")).encode(encoding))
    assert (entry.text.rsplit("\n", 1)[1], entry.detail) == (text, "")


def test_each_article_of_a_file_is_a_document() -> None:
    table = "<table-wrap><label>Table 1</label><table><tr><td>b</td></tr></table></table-wrap>"
    plain = article(f"<p>Second.</p>{table}", front="<article-meta/>")
    data = f"<set>{article('<p>First.</p>')}{plain}{article(front='<article-meta/>')}</set>".encode()
    first, second, third = JatsFormat().parse(Source("a.xml", data), OPTIONS)
    assert isinstance(first, ParsedText)
    assert isinstance(second, ParsedText)
    assert isinstance(third, RowFailure)
    assert [one.row for one in (first, second, third)] == ["1", "article-2", "article-3"]
    assert ("First." in first.text, second.text.startswith("Second.")) == (True, True)
    assert third.outcome is Outcome.EMPTY
    found = JatsFormat().visuals(Source("a.xml", data), "article-2", OPTIONS)
    assert [one.label for one in found] == ["Table 1"]


@pytest.mark.parametrize(
    ("xml", "outcome"),
    [
        (article("<p>not closed"), "corrupt"),
        (article("<p>x</p>")[:-40], "corrupt"),
        ("<article><title>DocBook</title></article>", "not_what_it_says"),
        ("<rss><article-list/></rss>", "not_what_it_says"),
        ("<article><front/><body/></article>", "empty"),
        (article("<sec>" * 5_000 + "</sec>" * 5_000), "corrupt"),
        (article("<p>&unheard;</p>"), "corrupt"),
        (BOMB + article("<p>&a9;</p>"), "corrupt"),
    ],
)
def test_what_cannot_be_read_has_an_outcome(xml: str, outcome: str) -> None:
    with pytest.raises(DocumentError) as failure:
        parse(xml)
    assert failure.value.outcome == outcome


def test_article_sets_and_other_encodings_are_read() -> None:
    plain = article("<p>caf\u00e9</p>")
    assert parse(f"<pmc-articleset>{plain}</pmc-articleset>").text.endswith("caf\u00e9")
    for encoding in ("utf-16", "iso-8859-1"):
        data = f'<?xml version="1.0" encoding="{encoding}"?>{plain}'.encode(encoding)
        assert parse(data).text.endswith("caf\u00e9")
        assert JatsFormat().sniff(data)


def test_spans_of_monstrous_tables_are_bounded() -> None:
    cell = '<td colspan="999999" rowspan="999999">x</td>'
    assert parse(article(f"<table-wrap><table><tr>{cell}</tr></table></table-wrap>")).text.endswith("| x |")
    rows = f"<tr>{cell}</tr>" * 2_000
    with pytest.raises(DocumentError, match="too_large"):
        parse(article(f"<table-wrap><table>{rows}</table></table-wrap>"))


TAGS = st.sampled_from(
    [
        "p",
        "sec",
        "title",
        "fig",
        "label",
        "caption",
        "table-wrap",
        "table",
        "tr",
        "td",
        "th",
        "thead",
        "tbody",
        "disp-formula",
        "tex-math",
        "list",
        "list-item",
        "sup",
        "sub",
        "xref",
        "ref-list",
        "ref",
        "mixed-citation",
        "element-citation",
        "name",
        "surname",
        "boxed-text",
        "fn",
        "fn-group",
    ]
)
TREES = st.recursive(
    st.sampled_from(["text", " a. B ", "x" * 400, "1", "", "Table 1"]),
    lambda inner: st.tuples(TAGS, st.lists(inner, max_size=4)).map(
        lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>tail "
    ),
    max_leaves=25,
)


@given(TREES)
def test_any_nesting_keeps_positions_true(tree: str) -> None:
    xml = article(f"<p>start</p>{tree}")
    entry = parse(xml)
    text = entry.text.split("\n")
    assert all(text[one.start_line - 1] == one.title for one in entry.sections)
    found = JatsFormat().visuals(Source("a.xml", xml.encode()), None, OPTIONS)
    assert len({one.label for one in found}) == len(found)
    for one in found:
        assert one.start_line is not None
        assert one.end_line is not None
        assert 1 <= one.start_line <= one.end_line <= len(text)
        assert text[one.start_line - 1].strip()
