"""How answers from a document are made, and where a missing full text may be looked for: the `answering` part of a corpus.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from qagen_dagster.records.base import Record

Template = Annotated[str, Field(pattern=r"^https?://\S+$", max_length=2000)]


class FulltextOptions(Record):
    """The way to a full text that the corpus does not have.

    Attributes:
        download: look for it on the network when an answer needs it. Nothing is ever fetched otherwise.
        doi_url, unpaywall_url, europe_pmc_url: addresses with `{doi}` (and `{email}`); null leaves the source out.
        email: sent to the Unpaywall-style source, which asks for one; without it that source is left out.
        proxy_url: address of an institution's proxy with `{url}`; used only with consent.
        always_allow_proxy: the consent, given once for all.
        max_megabytes: a larger file is refused.
        seconds: of one request with its redirects; a document's requests together may take four times as long.
        allow_private: `host:port` pairs that may lie on private or loopback addresses; all others are refused.
    """

    download: bool = False
    doi_url: Template | None = "https://doi.org/{doi}"
    unpaywall_url: Template | None = "https://api.unpaywall.org/v2/{doi}?email={email}"
    europe_pmc_url: Template | None = (
        "https://www.ebi.ac.uk/europepmc/webservices/rest/search?query=DOI:%22{doi}%22&resultType=core&format=json"
    )
    email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")] | None = None
    proxy_url: Template | None = None
    always_allow_proxy: bool = False
    max_megabytes: Annotated[float, Field(gt=0, le=500, allow_inf_nan=False)] = 50.0
    seconds: Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)] = 30.0
    allow_private: tuple[Annotated[str, Field(pattern=r"^\S+:\d{1,5}$")], ...] = ()

    @field_validator("doi_url", "unpaywall_url", "europe_pmc_url")
    @classmethod
    def _has_doi(cls, value: str | None) -> str | None:
        if value is not None and "{doi}" not in value:
            raise ValueError("must contain {doi}")
        return value

    @field_validator("proxy_url")
    @classmethod
    def _has_url(cls, value: str | None) -> str | None:
        if value is not None and "{url}" not in value:
            raise ValueError("must contain {url}")
        return value


class AnsweringOptions(Record):
    """How a question is answered from one document.

    Attributes:
        use_fulltext: prefer the full text; false: abstracts only.
        max_chunks: pieces of the document that the model is shown.
        similarity_threshold: pieces less similar to the question (cosine) are left out while better ones exist.
        temperature: of the answering model; null: as its profile says.
        fulltext: where a missing full text may be looked for.
    """

    use_fulltext: bool = True
    max_chunks: Annotated[int, Field(ge=1, le=100)] = 5
    similarity_threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.3
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    fulltext: FulltextOptions = Field(default_factory=FulltextOptions)
