"""The asset graph as a Dagster component. This project's own code location is such a component; other projects add one in a defs.yaml."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import dagster as dg
from pydantic import Field

from qagen_dagster.configuration.corpora import TEMPLATE, load_corpora
from qagen_dagster.configuration.exams import Exam, load_exams
from qagen_dagster.configuration.problems import ProblemSet, load_problem_sets
from qagen_dagster.configuration.yaml_files import Loaded
from qagen_dagster.defs import automation
from qagen_dagster.defs.catalog import build_catalog
from qagen_dagster.defs.documents import build_document_assets
from qagen_dagster.defs.evaluation.assets import build_evaluation_assets
from qagen_dagster.defs.exams.assets import build_exam_assets
from qagen_dagster.defs.executor import build_executor, build_outputs
from qagen_dagster.defs.grading import build_grounding_report
from qagen_dagster.defs.in_process import Progress, progress_logger
from qagen_dagster.defs.index import build_document_index
from qagen_dagster.defs.layout import Layout, path_of
from qagen_dagster.defs.outdated import build_up_to_date_checks, up_to_date_keys
from qagen_dagster.defs.partitions import build_exam_partitions, build_partitions
from qagen_dagster.defs.presentation import JOBS, members, presented
from qagen_dagster.defs.problems.assets import build_problem_assets
from qagen_dagster.defs.questions.assets import build_question_assets
from qagen_dagster.defs.questions.downstream import PUBLISHED_SETS, PublishedSets
from qagen_dagster.defs.refresh_job import build_refresh_job
from qagen_dagster.defs.resources import WorkspaceResource, build_work
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import Settings, load_settings

_SCAFFOLD = """\
type: {type}

attributes:
  corpora: corpora  # a folder with a folder for each corpus; paths are relative to the project
  store: assets/{name}
  profile: embedded  # the models; embedded ones need no key
  key_prefix: {name}
  include: []  # of grading, evaluation, exams, problems
  # schedule: "0 2 * * *"
  # max_usd: 5  # of one launch by a sensor or the schedule, which may use paid models only with both limits
  # max_usd_per_day: 20  # of all these launches of a day (UTC)
"""
_once = lru_cache(maxsize=32)  # a process that builds the graph again would spend half of the time on these
_questions, _evaluations, _exams = map(
    _once, (build_question_assets, build_evaluation_assets, build_exam_assets)
)


class QuestionSetsScaffolder(dg.Scaffolder[Any]):
    """Writes defs.yaml, and a corpus to begin with if the project has no corpora."""

    def scaffold(self, request: dg.ScaffoldRequest[Any]) -> None:
        if request.scaffold_format != "yaml":
            raise ConfigError("QuestionSets is scaffolded as YAML")
        name = request.target_path.name
        (request.target_path / "defs.yaml").write_text(_SCAFFOLD.format(type=request.type_name, name=name))
        folder = (request.project_root or Path()) / "corpora"
        if not folder.exists():
            (folder / "example" / "documents").mkdir(parents=True)
            (folder / "example" / "corpus.yaml").write_text(TEMPLATE.format(name="example"))


@dg.scaffold_with(QuestionSetsScaffolder)
class QuestionSets(dg.Component, dg.Model, dg.Resolvable):
    """Question sets from folders of documents: parsed, generated, validated and published, with their checks and automation.

    Paths are relative to the project. Profiles and limits that are not given are as the `QAGEN_*` variables say.
    """

    corpora: str = Field("corpora", description="The folder of corpora. Each has a corpus.yaml.")
    store: str | None = Field(
        None,
        description="Where results are kept: a folder, or a URL such as s3://bucket/sets. Default: assets/ and the prefix.",
    )
    profile: str | None = Field(None, description="The profile that says which models are used.")
    profiles: str | None = Field(None, description="A folder of profiles of your own.")
    key_prefix: str = Field(
        "qagen", description="The prefix of asset keys and of the names of jobs and sensors. Empty for none."
    )
    include: list[Literal["grading", "evaluation", "exams", "problems"]] = Field(
        [], description="What is made besides question sets."
    )
    schedule: str | None = Field(
        None,
        description="When everything out of date is made again, as a cron expression. If given, the schedule is on; else it is off, at 02:00.",
    )
    max_usd: float | None = Field(
        None,
        ge=0,
        description="Limit in US dollars of one launch by a sensor or the schedule. These use paid models only if this and max_usd_per_day are set.",
    )
    max_usd_per_day: float | None = Field(
        None, ge=0, description="Limit in US dollars of all these launches in a day (UTC)."
    )
    blocking_checks: bool = Field(
        False,
        description="Whether a failed check keeps a run from making the assets that depend on the checked one.",
    )
    fresh_within_hours: float | None = Field(
        None, gt=0, description="The UI marks a published set that is older."
    )
    git_url: str | None = Field(
        None,
        description="A repository with qagen's sources at GitHub or GitLab: the UI links code and docs there.",
    )
    git_branch: str = Field("main", description="The branch, tag or commit of these links.")

    @property
    def layout(self) -> Layout:
        """The layout of the graph. Raises ConfigError for a prefix that cannot be used."""
        return Layout(path_of(self.key_prefix), tuple(self.include), self.blocking_checks)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The graph for the project of `context`. Raises ConfigError for values that cannot be used."""
        return self.assemble(self.settings(context.project_root))

    def settings(self, root: Path) -> Settings:
        """The settings from the environment, with the given values of this component in their place. Relative paths start at `root`."""
        store = self.store or f"assets/{self.key_prefix}"
        given: dict[str, Any] = {
            "corpora": (root / self.corpora).resolve(),
            "assets": store if "://" in store else str(root / store),
            "profile": self.profile,
            "profiles": self.profiles and (root / self.profiles).resolve(),
            "automation_max_usd": self.max_usd,
            "automation_max_usd_per_day": self.max_usd_per_day,
        }
        chosen = {name: value for name, value in given.items() if value is not None}
        return replace(load_settings(), optional=tuple(self.include), **chosen)

    def assemble(
        self,
        settings: Settings,
        *,
        loggers: dict[str, dg.LoggerDefinition] | None = None,
        work: Work | None = None,
        **overrides: Any,
    ) -> dg.Definitions:
        """The graph of a corpora folder. `work` is work that a command started before its runs. `overrides` replace resources by name.

        A corpus that cannot be read is left out, and the UI shows its error.
        """
        layout = self.layout
        known, assets = _assets(settings, layout)
        present = partial(self._presented, _providers(settings))
        resources = {
            "workspace": WorkspaceResource.of(settings, layout),
            "work": build_work(layout, work),
            PUBLISHED_SETS: PublishedSets(assets=settings.assets),
        }
        return dg.Definitions(
            assets=[
                *automation.build_observed(layout, known),
                *self._linked(dg.map_asset_specs(present, assets)),
            ],
            jobs=[build_refresh_job(layout, self._for_runs), *_jobs(layout)],
            asset_checks=[automation.build_reload_check(layout, known), *build_up_to_date_checks(layout)],
            schedules=[automation.build_nightly_refresh(layout, known, self.schedule)],
            sensors=[
                automation.build_observer(layout, known),
                automation.build_refresher(layout, known),
                automation.build_continuer(layout, known),
                automation.build_condition_sensor(layout),
            ],
            resources={
                **{layout.name(name): one for name, one in resources.items()},
                **build_outputs(settings, layout),
                **overrides,
            },
            loggers=loggers,
            executor=None if layout.prefix else build_executor(),
        )

    def _for_runs(self, settings: Settings, progress: Progress, work: Work) -> dg.Definitions:
        return self.assemble(settings, loggers={"console": progress_logger(progress)}, work=work)

    def _presented(self, providers: Collection[str], spec: dg.AssetSpec) -> dg.AssetSpec:
        fresh = self.fresh_within_hours if spec.key == self.layout.key("corpus_json") else None
        window = None if fresh is None else timedelta(hours=fresh)
        return presented(spec, providers, self._docs).replace_attributes(  # pyright: ignore[reportUnknownMemberType]
            automation_condition=automation.inputs_changed(),
            freshness_policy=None if window is None else dg.FreshnessPolicy.time_window(fail_window=window),
        )

    def _linked(self, assets: Sequence[dg.AssetsDefinition]) -> Sequence[Any]:
        """The assets. If a repository is given, their references to code are addresses in the repository."""
        if self.git_url is None:
            return assets
        mapping = dg.AnchorBasedFilePathMapping(Path(__file__), "qagen_dagster/components.py")
        return dg.link_code_references_to_git(assets, self.git_url, self.git_branch, mapping, self._platform)

    @property
    def _platform(self) -> Literal["github", "gitlab"]:
        return "gitlab" if self.git_url and "gitlab" in self.git_url else "github"

    @property
    def _docs(self) -> str | None:
        """The address of the folder of docs pages; None if the pages are local files."""
        between = "-/tree" if self._platform == "gitlab" else "tree"
        return self.git_url and f"{self.git_url.rstrip('/')}/{between}/{self.git_branch}/docs"


def _providers(settings: Settings) -> set[str]:
    """The providers of the models of the default profile; empty for a profile that cannot be read, which is reported where it is used."""
    try:
        profile = Workspace(settings).profile(settings.profile)
    except ConfigError:
        return set()
    return {spec.provider for spec in profile.every_spec}


def _assets(
    settings: Settings, layout: Layout
) -> tuple[dict[str, dg.StaticPartitionsDefinition], list[dg.AssetsDefinition]]:
    """The partitions by kind, and the assets."""
    corpora = load_corpora(settings.corpora)
    partitions = build_partitions(corpora)
    found = load_exams(settings.corpora) if "exams" in layout.optional else Loaded[Exam]({})
    sets = load_problem_sets(settings.corpora) if "problems" in layout.optional else Loaded[ProblemSet]({})
    exams = build_exam_partitions(found.found)
    optional: dict[str, Callable[[], list[dg.AssetsDefinition]]] = {
        "grading": lambda: [build_grounding_report(layout, partitions)],
        "evaluation": lambda: [build_document_index(layout, partitions), *_evaluations(layout, partitions)],
        "exams": lambda: _exams(layout, exams),
        "problems": lambda: build_problem_assets(layout, sets),
    }
    known = {
        "corpus": partitions.corpora,
        "combination": partitions.combinations,
        "part": exams.parts,
        "set": dg.StaticPartitionsDefinition(list(sets.found)),
    }
    return known, [
        *build_document_assets(layout, partitions, corpora),
        *_questions(layout, partitions),
        *(asset for name, build in optional.items() if name in layout.optional for asset in build()),
        build_catalog(layout),
    ]


def _jobs(layout: Layout) -> Iterator[Any]:
    """The jobs that have assets in this graph."""
    named = dg.AssetSelection.checks(*up_to_date_keys(layout))
    for name, (_, description) in JOBS.items():
        assets = [layout.key(asset) for asset in members(layout, name)]
        if assets:
            selection = dg.AssetSelection.assets(*assets) - named
            executor = build_executor() if layout.prefix else None
            yield dg.define_asset_job(  # pyright: ignore[reportUnknownMemberType]
                layout.name(name), selection, description=description, executor_def=executor
            )
