"""The authors of JATS articles."""

from __future__ import annotations

from tests.formats.jats.test_reader import article, parse


def test_contributors_of_the_type_person_are_authors_unless_their_group_is_another() -> None:
    person = '<contrib contrib-type="person"><name><surname>{}</surname></name></contrib>'
    groups = (("", "Finch"), (' content-type="authors"', "Wren"), (' content-type="reviewers"', "Nobody"))
    told = "".join(f"<contrib-group{kind}>{person.format(name)}</contrib-group>" for kind, name in groups)
    meta = f"<article-meta><title-group><article-title>T</article-title></title-group>{told}</article-meta>"
    assert parse(article("<p>Body.</p>", front=meta)).metadata.authors == ("Finch", "Wren")
