from pathlib import Path

import dagster as dg
from sqlalchemy import Connection, Engine, event

from qagen_dagster.defs.sqlite_engines import keep_engines
from tests.support.graph import DAGSTER_WARNINGS

pytestmark = [*DAGSTER_WARNINGS]


@dg.op
def speak(context: dg.OpExecutionContext) -> None:
    for number in range(20):
        context.log.info("line %d", number)


@dg.job
def speech() -> None:
    speak()


def test_events_share_the_engine_of_their_database(tmp_path: Path) -> None:
    keep_engines()
    engines: set[int] = set()

    def note(connection: Connection) -> None:
        engines.add(id(connection.engine))

    event.listen(Engine, "engine_connect", note)
    try:
        with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
            ended = speech.execute_in_process(instance=instance)
            lines = [one.user_message for one in instance.all_logs(ended.run_id)]
    finally:
        event.remove(Engine, "engine_connect", note)
    assert ended.success
    assert {f"line {number}" for number in range(20)} <= set(lines)
    assert len(engines) <= 4, "the runs, the index of events, the events of the run, the schedules"
