"""`qagen answer`: answers one question from one document, and shows the lines that support the answer."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.markup import escape

from qagen_dagster.answering.answer_from_document import answer_from_document
from qagen_dagster.answering.full_text import ProxyCallback, add_fulltext
from qagen_dagster.answering.safe_http import FetchError
from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import json_option, profile_option
from qagen_dagster.cli.output import Terminal, fail, print_json
from qagen_dagster.errors import TooLargeError
from qagen_dagster.loop.answering import Asked, in_corpus, loose_file
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.answer import ProxyCallbackResult, SemanticSearchAnswer
from qagen_dagster.settings import Settings
from qagen_dagster.untrusted_file import read_file

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
LONGEST_SHOWN = 600  # characters of a cited chunk


@click.command()
@click.argument("document")
@click.argument("question")
@click.option("--corpus", help="Look for DOCUMENT only in this corpus, not among files.")
@click.option("--row", help="Id of the row, if DOCUMENT is a file with several rows (JSONL).")
@profile_option
@click.option("--model", help="Use this model of the same provider instead of the profile's answerer.")
@click.option("--abstract", "abstract_only", is_flag=True, help="Use only the abstract, not the full text.")
@click.option("--download", is_flag=True, help="Search the network for the full text if it is missing.")
@click.option("--fulltext", type=_FILE, help="PDF file of the full text. It is stored with the document.")
@click.option("--ask-proxy", is_flag=True, help="Ask in the terminal before the institution's proxy is used.")
@click.option("--yes-proxy", is_flag=True, help="Use the institution's proxy without asking.")
@click.option(
    "--max-chunks",
    type=click.IntRange(1, 100),
    help="Maximum number of excerpts that the model sees. Default: as in corpus.yaml (5).",
)
@click.option(
    "--threshold",
    type=click.FloatRange(-1, 1),
    help="Minimum cosine similarity of an excerpt. Default: as in corpus.yaml (0.3).",
)
@json_option
@click.pass_obj
def answer(
    settings: Settings,
    document: str,
    question: str,
    corpus: str | None,
    row: str | None,
    profile: str | None,
    model: str | None,
    abstract_only: bool,
    download: bool,
    fulltext: Path | None,
    ask_proxy: bool,
    yes_proxy: bool,
    max_chunks: int | None,
    threshold: float | None,
    as_json: bool,
) -> int:
    """Answer a question from one document.

    DOCUMENT is the id of a document, its path in its corpus, or a file. Exits with 1 if there is no answer, because of an error or
    because the text does not answer the question. Nothing is fetched from the network unless --download or
    corpus.yaml allows it.
    """
    space = Workspace(settings)
    with _asked(space, document, corpus, row, profile) as asked:
        if fulltext is not None:
            _keep(asked, fulltext)
        found = answer_from_document(
            asked.document_id,
            question,
            place=asked.place,
            model=model,
            use_fulltext=False if abstract_only else None,
            download_missing=True if download else None,
            always_allow_proxy=True if yes_proxy else None,
            proxy_callback=_ask(asked) if ask_proxy else None,
            max_chunks=max_chunks,
            similarity_threshold=threshold,
        )
    if as_json:
        print_json(found.to_dict())
    elif found.error is None:
        _show(found)
    if found.error is not None:
        message = " ".join((found.error_message or "").split())
        fail([f"{found.error.value}: {found.error.description}" + (f" ({message})" if message else "")])
    return 0 if found.success else 1


@contextmanager
def _asked(
    space: Workspace, document: str, corpus: str | None, row: str | None, profile: str | None
) -> Generator[Asked]:
    """The document to ask: the file `document` if it exists and no corpus is named, otherwise a document of a corpus."""
    path = Path(document).expanduser()
    if corpus is None and path.is_file():
        with loose_file(space, path, row, profile) as asked:
            yield asked
    else:
        yield in_corpus(space, document, corpus, profile)


def _keep(asked: Asked, fulltext: Path) -> None:
    """Store the PDF `fulltext` with the document. Raises UsageError when the PDF cannot be read or used."""
    place = asked.place
    options = place.options.fulltext
    try:
        data = read_file(fulltext, int(options.max_megabytes * 1_000_000))
        add_fulltext(place.store, place.corpus, asked.document_id, data, options, place.pool)
    except OSError as error:
        raise click.UsageError(f"{fulltext} cannot be read: {error.strerror}") from None
    except (FetchError, TooLargeError, ValueError) as error:
        raise click.UsageError(f"{fulltext}: {error}") from None


def _ask(asked: Asked) -> ProxyCallback:
    """A callback that asks in the terminal whether to use the proxy."""

    def callback(document_id: str, title: str | None) -> ProxyCallbackResult:
        echo(f"The full text of {title or document_id} is not freely available.", err=True)
        prompt = "Enter y to use the proxy, n to continue without the full text, or the path of a PDF"
        reply = str(click.prompt(prompt, default="n", err=True)).strip()
        if reply.lower() in ("y", "yes"):
            return ProxyCallbackResult(allow_proxy=True)
        path = Path(reply).expanduser()
        if reply.lower() in ("n", "no", "") or not path.is_file():
            return ProxyCallbackResult()
        _keep(asked, path)
        return ProxyCallbackResult(pdf_made_available=True)

    return callback


def _show(found: SemanticSearchAnswer) -> None:
    console = Terminal()
    shown = found.answer if found.success else "No answer: the document does not answer the question."
    console.print(f"[bold]{escape(shown)}[/bold]", highlight=False)
    if found.candidate:
        console.print(f"What the model said is not an answer: {escape(found.candidate)}", highlight=False)
    sure = "unknown" if found.confidence is None else f"{found.confidence:.2f}"
    console.print(
        f"\nconfidence: {sure}, source: {found.source.value}, model: {escape(found.model_used)}",
        highlight=False,
    )
    for chunk in found.chunks_used or ():
        lines = "" if chunk.start_line is None else f"lines {chunk.start_line}-{chunk.end_line}, "
        console.print(f"\n[dim]{lines}similarity {chunk.score:.2f}[/dim]", highlight=False)
        is_long = len(chunk.text) > LONGEST_SHOWN
        text = f"{chunk.text[:LONGEST_SHOWN].rstrip()} ..." if is_long else chunk.text
        console.print(escape(text), highlight=False)
    for note in found.notes:
        echo(f"qagen: note: {note}", err=True)
