"""JATS XML: entities, other files and addresses, nesting, tables of any size, encodings that lie."""

from __future__ import annotations

from benchmarks.attack.hostile.kind import Kind, Trap, document, noise

HEALTHY = "healthy.xml", b"<article><body><p>The mast is nine metres high.</p></body></article>"


def _article(body: str, head: str = "", front: str = "") -> str:
    return f"{head}<article>{front}<body><p>The mast is nine metres high.</p>{body}</body></article>"


def _dtd(rules: str, body: str = "") -> str:
    return _article(body, f'<?xml version="1.0"?><!DOCTYPE article [{rules}]>')


def _laughs() -> str:
    rules = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    return _dtd(f'<!ENTITY a0 "ha">{rules}', "<p>&a11;</p>")


def _table(cell: str, count: int = 1) -> str:
    return _article(f"<table-wrap><table><tbody><tr>{cell * count}</tr></tbody></table></table-wrap>")


def articles() -> list[Kind]:
    big = '<!ENTITY a "{}">'.format("x" * 100_000)
    return [
        document("a billion laughs", "laughs.xml", _laughs(), "parsed", "corrupt"),
        document("an entity of 100 kB, 10,000 times", "square.xml", _dtd(big, "<p>" + "&a;" * 10_000 + "</p>"), "parsed", "corrupt"),
        document("an entity of itself", "itself.xml", _dtd('<!ENTITY a "&b;"><!ENTITY b "&a;">', "<p>&a;</p>"), "parsed", "corrupt"),
        document("an entity that is a file", "file.xml", lambda trap: _dtd(f'<!ENTITY a SYSTEM "file://{trap.file}">', "<p>&a;</p>"), "parsed", "corrupt"),
        document("an entity that is an address", "address.xml", lambda trap: _dtd(f'<!ENTITY a SYSTEM "{trap.url}/a">', "<p>&a;</p>"), "parsed", "corrupt"),
        document("a parameter entity that is an address", "parameter.xml", lambda trap: _dtd(f'<!ENTITY % a SYSTEM "{trap.url}/a">%a;'), "parsed", "corrupt"),
        document("a DTD at an address", "dtd.xml", lambda trap: _article("", f'<!DOCTYPE article SYSTEM "{trap.url}/a.dtd">'), "parsed", "corrupt"),
        document("a file to be included", "include.xml", _include, "parsed"),
        document("a style sheet at an address", "style.xml", lambda trap: _article("", f'<?xml-stylesheet href="{trap.url}/a.xsl" type="text/xsl"?>'), "parsed"),
        document("figures elsewhere", "figures.xml", lambda trap: _article(f'<fig><label>Figure 1</label><graphic href="file://{trap.file}"/><graphic href="{trap.url}/a"/></fig>'), "parsed"),
        document("sections, 50,000 levels deep", "sections.xml", _article("<sec>" * 50_000 + "</sec>" * 50_000), "parsed", "corrupt"),
        document("bold, 200 levels deep", "bold.xml", _article("<p>" + "<bold>" * 200 + "a" + "</bold>" * 200 + "</p>"), "parsed", "corrupt"),
        document("lists, 5,000 levels deep", "lists.xml", _article("<list><list-item>" * 5_000 + "</list-item></list>" * 5_000), "parsed", "corrupt"),
        document("formulae, 5,000 levels deep", "formulae.xml", _article("<math>" + "<mfrac><mi>a</mi>" * 5_000 + "<mi>b</mi>" + "</mfrac>" * 5_000 + "</math>"), "parsed", "corrupt"),
        document("tables, 300 levels deep", "tables.xml", _article("<table-wrap><table><tr><td>" * 60 + "a" + "</td></tr></table></table-wrap>" * 60), "parsed", "corrupt"),
        document("a cell over a billion columns", "columns.xml", _table('<td colspan="1000000000" rowspan="1000000000">a</td>'), "parsed"),
        document("100,000 cells in a row", "cells.xml", _table("<td rowspan='9999'>a</td>", 100_000), "parsed"),
        document("10,000 rows of spanning cells", "spans.xml", _article("<table-wrap><table>" + "<tr><td rowspan='9999' colspan='99'>a</td></tr>" * 10_000 + "</table></table-wrap>"), "parsed", "too_large"),
        document("a span that is no number", "span.xml", _table('<td colspan="-1" rowspan="1e9">a</td><td colspan="\u0669">b</td>'), "parsed"),
        document("100,000 attributes", "attributes.xml", _article("<p " + " ".join(f'a{n}="b"' for n in range(100_000)) + "/>"), "parsed", "corrupt"),
        document("an attribute of 11 MB", "attribute.xml", _article(f'<p a="{"x" * 11_000_000}"/>'), "parsed", "corrupt"),
        document("a text of 11 MB", "text.xml", _article(f"<p>{'x ' * 5_500_000}</p>"), "parsed", "corrupt"),
        document("a comment of 11 MB", "comment.xml", _article(f"<!--{'x' * 11_000_000}-->"), "parsed", "corrupt"),
        document("50,000 namespaces", "namespaces.xml", _article("".join(f'<p xmlns:a{n}="b{n}"/>' for n in range(50_000))), "parsed", "corrupt"),
        document("10,000 references to one another", "references.xml", _article('<p><xref rid="r1">1</xref></p>' * 10_000), "parsed"),
        document("2,000 figures with one label", "labels.xml", _article("<fig><label>Figure 1</label><caption><p>a</p></caption></fig>" * 2_000), "parsed"),
        document("a declared encoding that is wrong", "lies.xml", _article("", '<?xml version="1.0" encoding="UTF-16"?>'), "parsed", "corrupt"),
        document("an encoding that does not exist", "encoding.xml", _article("", '<?xml version="1.0" encoding="x-none"?>'), "parsed", "corrupt"),
        document("UTF-7, which hides tags", "utf7.xml", _article("<p>+ADw-script+AD4-</p>", '<?xml version="1.0" encoding="UTF-7"?>'), "parsed", "corrupt"),
        document("UTF-16 without a mark", "utf16.xml", _article("").encode("utf-16-le"), "parsed", "corrupt", "not_what_it_says"),
        document("two roots", "roots.xml", _article("") + _article(""), "parsed", "corrupt"),
        document("cut in the middle of a tag", "cut.xml", _article("")[:-12], "parsed", "corrupt"),
        document("NUL and control characters", "nul.xml", _article("<p>a\0b\x1bc</p>"), "parsed", "corrupt"),
        document("characters by number that are none", "numbers.xml", _article("<p>&#0;&#xD800;&#x110000;&#xFFFF;</p>"), "parsed", "corrupt"),
        document("a page of HTML", "html.xml", "<!DOCTYPE html><html><body><p>a</p></body></html>", "not_what_it_says", "unsupported"),
        document("a picture in SVG", "svg.xml", "<svg xmlns='http://www.w3.org/2000/svg'><script>a</script></svg>", "not_what_it_says", "unsupported"),
        document("noise after the first tag", "noise.xml", b"<article>" + noise(9_999), "corrupt", "not_what_it_says"),
    ]  # fmt: skip


def _include(trap: Trap) -> str:
    names = 'xmlns:xi="http://www.w3.org/2001/XInclude"'
    return _article(f'<p {names}><xi:include href="file://{trap.file}" parse="text"/></p>')
