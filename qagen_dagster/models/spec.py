"""The settings of a model in a profile: what is sent, limits, prices, batches; and the versions of embedded models. `configuration/profiles.py` reads the profiles."""

from typing import Any

from pydantic import Field

from qagen_dagster.records.base import Record

# A version is part of every fingerprint, so results of other rules count as results of another model. If a change of the rules
# changes the submissions of a group of models, give the group a new version ("2", "3", ...) in the same change. Do so in no other
# change, because a new version makes every stored result of the group stale. `tests/models/embedded/test_version.py` fails if
# outputs change without a new version. The first versions are digests of the files that held the rules, because older results have these digests as versions.
QUESTIONS_VERSION = "9"  # models "rules" and "matcher"; first 64a08149504d8350
ANSWERING_VERSION = "6"  # model "reader"; first 64a08149504d8350
EXAMS_VERSION = "5"  # models "exam-..."; first 052038541dec45bf
PROBLEMS_VERSION = "7104a66924eec6df"  # models "problem-..."

_BY_PREFIX = {
    "rules": QUESTIONS_VERSION,
    "matcher": QUESTIONS_VERSION,
    "reader": ANSWERING_VERSION,
    "exam": EXAMS_VERSION,
    "problem": PROBLEMS_VERSION,
}


def embedded_version(model: str) -> str:
    """The version of an embedded model's rules. A model without rules has QUESTIONS_VERSION."""
    return _BY_PREFIX.get(model.partition("-")[0], QUESTIONS_VERSION)


OPENING_CHARACTERS = 100_000  # about 25,000 tokens: a paper of 20 to 25 pages


class ModelSpec(Record):
    """A model as a profile binds it to a role."""

    provider: str  # a name in models/providers.py: openai, openai_compatible, anthropic, embedded, scripted
    model: str
    temperature: float | None = None  # None: nothing is sent, and the provider uses its default
    max_output_tokens: int = Field(default=4096, ge=16)
    base_url: str | None = None
    api_key_env: str | None = None  # name of the variable, never its value
    timeout_seconds: float = Field(default=120.0, gt=0)
    tool_calling: str = Field(default="native", pattern="^(native|emulated)$")
    opening_characters: int = Field(default=OPENING_CHARACTERS, ge=0)  # of a first message's text
    images: bool = True  # whether the model accepts pictures
    structured_output: str = Field(default="json_schema", pattern="^(json_schema|json_object|none)$")
    max_image_pixels: int = Field(default=1_150_000, ge=10_000)
    usd_per_million_input: float | None = Field(default=None, ge=0)
    usd_per_million_output: float | None = Field(default=None, ge=0)
    usd_per_million_cached: float | None = Field(default=None, ge=0)  # None: the price of input
    usd_per_million_cache_write: float | None = Field(default=None, ge=0)  # None: see call_cost.py
    # Maximum attempts of one call, which is repeated after transient failures; 8 attempts bridge 30 s without a server
    max_attempts: int = Field(default=8, ge=1)
    deadline_seconds: float = Field(default=600.0, gt=0)  # for one call with all its attempts
    requests_per_minute: float | None = Field(default=None, gt=0)  # None: no limit; all processes share it
    tokens_per_minute: int | None = Field(default=None, gt=0)  # input and output together
    concurrency: int | None = Field(default=None, ge=1, le=1000)  # maximum of attempts in flight
    execution: str = Field(default="direct", pattern="^(direct|batch)$")  # batch: see batcher.py
    batch_window_seconds: float = Field(default=5.0, ge=0)  # for collecting the requests of a batch
    batch_poll_seconds: float = Field(default=30.0, gt=0)  # between two polls of a batch
    batch_deadline_seconds: float = Field(default=90_000.0, gt=0)  # for a batch; servers take up to 24 h
    batch_discount: float = Field(default=0.5, ge=0, le=1)  # the fraction of the price that a batch saves
    options: dict[str, Any] = Field(default_factory=dict)  # sent unchanged with every request

    @property
    def name(self) -> str:
        """`provider:model`, as records show it."""
        return f"{self.provider}:{self.model}"

    def identity(self) -> dict[str, Any]:
        """The settings that can change a response. They are part of the ledger key and of fingerprints."""
        settings = self.model_dump(
            mode="json",
            include={
                "provider", "model", "temperature", "max_output_tokens", "base_url", "tool_calling",
                "images", "structured_output", "max_image_pixels", "options",
            },
        )  # fmt: skip
        return (
            settings | {"version": embedded_version(self.model)} if self.provider == "embedded" else settings
        )
