"""Serves the review page on loopback, and finds similar questions.

Only the page itself may talk to the server, so the origin of every request is checked. Similar questions are chosen by rare words and
sorted by embeddings.
"""

import math
import re
import socket
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from threading import Lock

import anyio.from_thread
import uvicorn
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from qagen_dagster.catalog import queries
from qagen_dagster.errors import ConfigError, QagenError
from qagen_dagster.loop.catalog import catalog_file
from qagen_dagster.models.embedders import Encode, Vectors
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import normalise
from qagen_dagster.web import page
from qagen_dagster.web.review_set import ReviewSet
from qagen_dagster.web.sets import Reviews, Sets

CHOSEN = 60  # maximum number of questions whose embeddings are compared
SHOWN = 5  # maximum number of similar questions
FROM = 0.5  # minimum cosine of similar questions
_WORD = re.compile(r"\w+")


class Similar(Record):
    """A question that is similar to another question, and the cosine (-1 to 1) of the two questions."""

    id: str
    score: float


class SimilarQuestions:
    """The accepted questions of one set by their words. Embeddings are computed when they are first needed, and kept."""

    def __init__(self, found: ReviewSet, encode: Encode) -> None:
        self._encode = encode
        self._texts = {row.id: row.question for row in found.rows if row.outcome == "accepted"}
        self._with_word: defaultdict[str, list[str]] = defaultdict(list)
        for key, text in self._texts.items():
            for word in _words_of(text):
                self._with_word[word].append(key)
        self._vectors: dict[str, Vectors] = {}

    def like(self, key: str, question: str) -> tuple[Similar, ...]:
        """At most SHOWN questions that are similar to `question`, without the question `key`, the most similar first."""
        chosen = [one for one in self._by_words(question) if one != key][:CHOSEN]
        texts = {question, *(self._texts[one] for one in chosen)}
        new = sorted(text for text in texts if text not in self._vectors)
        if new:
            self._vectors.update(zip(new, self._encode(new), strict=True))
        own = self._vectors[question]
        scored = (Similar(id=one, score=float(own @ self._vectors[self._texts[one]])) for one in chosen)
        near = sorted((one for one in scored if one.score >= FROM), key=lambda one: (-one.score, one.id))
        return tuple(near[:SHOWN])

    def _by_words(self, question: str) -> Iterator[str]:
        weights: defaultdict[str, float] = defaultdict(float)
        for word in _words_of(question):
            for key in self._with_word.get(word, ()):
                weights[key] += math.log(1 + len(self._texts) / len(self._with_word[word]))
        return iter(sorted(weights, key=lambda key: -weights[key]))


def _words_of(text: str) -> set[str]:
    return set(_WORD.findall(normalise(text)))


MOST_BYTES = 100_000  # of a request
_HEADERS = {
    "Content-Security-Policy": page.POLICY.format(
        scripts="'self'", styles="'self'", images="'self' data:", connect="'self'"
    )
    + "; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class ReviewServer:
    """Answers the requests of the page. With `read_only`, no decision is accepted."""

    def __init__(self, sets: Sets, *, reviewer: str, port: int, read_only: bool = False) -> None:
        self._sets, self._reviewer, self._read_only = sets, reviewer, read_only
        self._decided = Reviews(sets.space)
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._files = page.static_files()
        self._similar: dict[str, tuple[ReviewSet, SimilarQuestions]] = {}
        self._encoding = Lock()

    @cached_property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self._respond, methods=["GET", "POST"])])

    def run(self, listening: socket.socket) -> None:
        """Serve until Ctrl-C."""
        uvicorn.Server(uvicorn.Config(self.app, log_level="warning", access_log=False)).run([listening])

    def _respond(self, request: Request) -> Response:
        refused = self._refusal(request)
        if refused is not None:
            response: Response = PlainTextResponse(refused, 403)
        else:
            try:
                response = self._answer(request)
            except QagenError as error:
                status = 400 if isinstance(error, ConfigError) else 404
                response = JSONResponse({"error": str(error)}, status)
        response.headers.update(_HEADERS)
        return response

    def _refusal(self, request: Request) -> str | None:
        """The reason to refuse a request, or None. Another host name means DNS rebinding; another origin means a foreign page."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if host not in self._hosts:
            return "unknown host"
        if origin is not None and origin != f"http://{host}":
            return "foreign origin"
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "foreign site"
        if request.method != "POST":
            return None
        if origin is None or request.headers.get("content-type") != "application/json":
            return "only the page may write"
        return "this page is read-only" if self._read_only else None

    def _answer(self, request: Request) -> Response:
        path = request.path_params["path"]
        if request.method == "POST":
            if path != "decide":
                return _missing()
            return _json(self._decided.judge(self._sets, _body(request)).model_dump_json())
        if path == "":
            return Response(page.server_page(), media_type="text/html; charset=utf-8")
        if path in self._files:
            return Response(self._files[path], media_type=page.MEDIA_TYPES["." + path.rpartition(".")[2]])
        found = self._routes.get(path)
        return _missing() if found is None else found(request)

    @cached_property
    def _routes(self) -> dict[str, Callable[[Request], Response]]:
        return {
            "data": self._data,
            "reviews": self._reviews,
            "agreement": lambda _: _json(page.agreement_json(self._sets.all(), self._decided)),
            "versions": self._about(self._versions),
            "compare": self._about(self._compare),
            "detail": self._about(lambda _, found, key: _json(found.detail(key).model_dump_json())),
            "fields": self._about(lambda _, found, key: JSONResponse(found.fields(key))),
            "lineage": self._about(lambda _, found, key: _json(found.lineage(key).model_dump_json())),
            "lines": self._about(_lines),
            "similar": self._about(self._similar_questions),
            "picture": self._about(_picture),
        }

    def _about(self, answer: Callable[[Request, ReviewSet, str], Response]) -> Callable[[Request], Response]:
        """A handler of requests about a set. `answer` gets the request, the set, and the id of a question (empty if none is given)."""

        def respond(request: Request) -> Response:
            found = self._sets.get(request.query_params.get("set", ""))
            return answer(request, found, request.query_params.get("id", ""))

        return respond

    def _data(self, _request: Request) -> Response:
        found = list(self._sets.all())
        settings: dict[str, object] = {"readOnly": self._read_only, "reviewer": self._reviewer}
        return _json(page.data_json(found, self._decided, {**settings, "timesRead": self._sets.times_read}))

    def _reviews(self, request: Request) -> Response:
        """The decisions, and how often sets were loaded; null if nothing has changed since the page asked for both."""
        found = list(self._sets.all())
        known = _number(request, "known"), _number(request, "read")
        if known == (self._decided.count(found), self._sets.times_read):
            return _json(b"null")
        return _json(
            b'{"timesRead":%d,"reviews":%b}'
            % (self._sets.times_read, page.reviews_json(found, self._decided))
        )

    def _versions(self, _request: Request, found: ReviewSet, _key: str) -> Response:
        with catalog_file(self._sets.space.store) as file:
            return _json(to_json(queries.versions(file, found.key)))

    def _compare(self, request: Request, found: ReviewSet, _key: str) -> Response:
        names = [f"{found.key}@{_number(request, name)}" for name in ("first", "second")]
        with catalog_file(self._sets.space.store) as file:
            return _json(to_json(queries.compare(file, *names)[0]))

    def _similar_questions(self, _request: Request, found: ReviewSet, key: str) -> Response:
        question = found.find(key)
        with self._encoding:  # one computation at a time; the same set keeps its embeddings
            known = self._similar.get(found.key)
            if known is None or known[0] is not found:
                known = found, SimilarQuestions(found, self._sets.space.encode)
                self._similar[found.key] = known
            return _json(to_json(known[1].like(key, question.question)))


def _lines(request: Request, found: ReviewSet, key: str) -> Response:
    return _json(to_json(found.lines(key, _number(request, "first"), _number(request, "last"))))


def _picture(request: Request, found: ReviewSet, key: str) -> Response:
    drawn = found.picture(key, _number(request, "page"), request.query_params.get("visual", ""))
    return _missing() if drawn is None else Response(drawn.data, media_type=drawn.media_type)


def _body(request: Request) -> bytes:
    """The body of a request. Raises ConfigError if the body is too long or its length is unknown."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or int(length) > MOST_BYTES:
        raise ConfigError(f"a request must state its length, at most {MOST_BYTES:,} bytes")
    return anyio.from_thread.run(request.body)


def _number(request: Request, name: str) -> int:
    value = request.query_params.get(name, "")
    if not value.isdecimal() or len(value) > 9:
        raise ConfigError(f"{name} is not a number of 1 to 9 digits")
    return int(value)


def _json(text: str | bytes) -> Response:
    return Response(text, media_type="application/json")


def _missing() -> Response:
    return JSONResponse({"error": "there is no such page"}, 404)
