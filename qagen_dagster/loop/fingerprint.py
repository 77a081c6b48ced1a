"""What a combination's results depend on, as one fingerprint: change any part and exactly its combinations move.

Time-outs, prices and retries are left out: they change how a response is had, not what it says.
"""

from __future__ import annotations

import json

from qagen_dagster.agents.qa import deduplicator, generator, validator
from qagen_dagster.configuration.profiles import QUESTION_ROLES, Profile
from qagen_dagster.records.corpus import CorpusConfig
from qagen_dagster.records.ids import Mode, fingerprint

LOOP_VERSION = "1"  # raised when the same responses would give another result


def prompt_hashes(mode: Mode) -> dict[str, str]:
    """The prompts that a mode uses, with their hashes."""
    prompts = (
        generator.prompt_for(mode),
        validator.blind_prompt(mode),
        validator.compare_prompt(),
        deduplicator.prompt(),
    )
    return {prompt.name: prompt.hash for prompt in prompts}


def model_fingerprint(profile: Profile, mode: Mode) -> str:
    """Changes with a role's model or settings, or with a prompt, of this mode."""
    models = {role.value: profile.spec(role, mode).identity() for role in QUESTION_ROLES}
    return fingerprint([json.dumps(models, sort_keys=True), json.dumps(prompt_hashes(mode), sort_keys=True)])


def work_fingerprint(profile: Profile, corpus: CorpusConfig, scenario: str, mode: Mode) -> str:
    """What a document's journal depends on, its own version aside. The limits of the loop are not in it:
    a higher target continues the same journal."""
    config = corpus.scenarios[scenario]
    told = [corpus.name, corpus.corpus_context, config.name, config.description]
    return fingerprint([LOOP_VERSION, model_fingerprint(profile, mode), *told])
