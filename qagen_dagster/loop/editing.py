"""What the proofs of edited exam items and problems have in common."""

from collections.abc import Collection

from qagen_dagster.agents.problems.roles import solve_blind
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.blind import BlindSolution


def refuse(faults: Collection[str]) -> None:
    """Raise ConfigError with the faults of an edit if there are any."""
    if faults:
        raise ConfigError(f"the edit is refused: {'; '.join(dict.fromkeys(faults))}")


def solver_answer(
    space: Workspace, profile: str, account: str, question: str, options: str
) -> BlindSolution | None:
    """What the solver of the profile answers, who sees only the question and the options; None if no solver is bound.

    Raises ConfigError if the solver gives no answer, and ModelError.
    """
    spec = space.profile(profile).roles.get(Role.SOLVER)
    if spec is None:
        return None
    said = solve_blind(space.model(spec), account, question, options)
    if said.result is None:
        refuse([f"the solver gave no answer: {said.detail}"])
    return said.result
