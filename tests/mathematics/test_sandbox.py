"""Forms end as a value or as a named failure, whatever they try; and nothing else happens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from qagen_dagster.mathematics.evaluator import FUNCTIONS, FormError, FormFailure
from qagen_dagster.mathematics.sandbox import GRACE, SECONDS, Computed, Sandbox, Task
from tests.mathematics import hostile

# Each nests three sums: eight thousand million terms, with every number small.
ENDLESS = "Sum(Sum(Sum(sqrt(i)*j*k,(i,1,2000)),(j,1,2000)),(k,1,2000))"
MALICIOUS = [
    "__import__('os').system('touch {path}')",
    "(lambda: [1 for _ in iter(int, 1)])()",
    "10**10**10",
    "[0]*10**10",
    "open('{path}','w').write('x')",
    ENDLESS,
]


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(seconds=1.5) as box:
        box.compute([Task("1")])
        yield box


def value(box: Sandbox, expression: str, **givens: str) -> str:
    (outcome,) = box.compute([Task(expression, givens)])
    assert isinstance(outcome, Computed), outcome
    return outcome.exact


@pytest.mark.parametrize("form", MALICIOUS, ids=lambda text: text[:20])
def test_a_malicious_form_ends_as_a_named_failure(box: Sandbox, form: str, tmp_path: Path) -> None:
    path = tmp_path / "made"
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    (outcome,) = box.compute([Task(form.replace("{path}", str(path)))])
    assert isinstance(outcome, FormError)
    assert not path.exists()
    assert value(box, "1+1") == "2"
    after = {process.pid for process in psutil.Process().children(recursive=True)}
    assert len(after) <= max(len(before), 1)


def test_a_form_may_take_less_than_five_seconds_with_the_start_of_a_process() -> None:
    assert SECONDS + GRACE <= 2.5


def test_good_forms_beside_a_refused_one_keep_their_values(box: Sandbox) -> None:
    first, second, third = box.compute(
        [Task("m*v**2/2", {"m": "2", "v": "3"}), Task("open('x')"), Task("3*F/2", free=frozenset("F"))]
    )
    assert isinstance(first, Computed)
    assert first.exact == "9"
    assert isinstance(second, FormError)
    assert second.failure is FormFailure.REFUSED
    assert isinstance(third, Computed)
    assert third.exact == "3*F/2"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_allowed_function_works_where_no_file_can_be_opened(box: Sandbox, name: str) -> None:
    arguments = {
        "atan2": "1,2",
        "binomial": "7,3",
        "Mod": "7,3",
        "root": "5,3",
        "Rational": "1,3",
        "log": "5",
        "gcd": "12,18",
        "lcm": "4,6",
        "factorial": "6",
    }
    inner = arguments.get(name, "3/7")
    assert value(box, f"{name}({inner})")
    if name not in ("gcd", "lcm", "factorial", "binomial", "Rational"):
        (outcome,) = box.compute([Task(f"{name}({inner})*sqrt(F)+pi/F", free=frozenset("F"))])
        assert isinstance(outcome, Computed), outcome


@pytest.mark.parametrize(
    "form",
    [
        "integrate(x*exp(-x**2)*sin(3*x),(x,0,2))",
        "integrate(1/(1+x**4),(x,0,1))",
        "limit((1+1/x)**x,x,0)",
        "solve(x**4-5*x**2+4,x)[-1]",
        "solve(2**x-8,x)[0]",
        "diff(tan(x)*log(x)/sqrt(1+x),x)",
        "solve(a*x**2-b,x)[0]",
        "Sum(cos(k)/k,(k,1,30))",
    ],
)
def test_calculus_ends_with_a_value_or_a_name(box: Sandbox, form: str) -> None:
    (outcome,) = box.compute([Task(form, {"a": "a", "b": "b"})])
    assert isinstance(outcome, Computed) or outcome.failure in (FormFailure.UNDEFINED, FormFailure.TIMEOUT), (
        outcome
    )


def test_threads_take_turns(box: Sandbox) -> None:
    with ThreadPoolExecutor(8) as threads:
        values = list(threads.map(lambda number: value(box, f"{number}**2"), range(24)))
    assert values == [str(number**2) for number in range(24)]


def workers() -> set[psutil.Process]:
    return {one for one in psutil.Process().children() if "sandbox_worker" in " ".join(one.cmdline())}


def test_a_closed_sandbox_leaves_no_process_and_starts_again() -> None:
    box, before = Sandbox(), workers()  # other tests of this process have sandboxes of their own
    value(box, "1")
    (child,) = workers() - before
    box.close()
    assert not child.is_running()
    assert value(box, "2") == "2"
    box.close()


def test_a_killed_process_is_replaced() -> None:
    with Sandbox() as box:
        value(box, "1")
        for child in workers():
            child.kill()
            child.wait()
        outcomes = [box.compute([Task("2")])[0] for _ in range(2)]
    assert isinstance(outcomes[-1], Computed)


BREAKING = {
    "infinite loop": ("timeout",),
    "memory bomb": ("out_of_memory",),
    "many small objects": ("out_of_memory", "timeout", "crashed"),
    "read a file": ("crashed",),
    "write a file": ("crashed",),
    "append to a file": ("crashed",),
    "open a socket": ("crashed",),
    "start a process": ("crashed",),
    "raise its limits": ("crashed",),
    "lie to the parent": ("crashed",),
    "exit": ("crashed",),
    "crash": ("crashed",),
    "recursion": ("crashed", "out_of_memory", "timeout"),
    "flood": ("crashed",),
}


@pytest.fixture(scope="module")
def open_box() -> Iterator[Sandbox]:
    with Sandbox(seconds=1.0, memory_bytes=100_000_000, compute=hostile.run) as box:
        yield box


@pytest.mark.parametrize("what", BREAKING)
def test_without_the_allow_list_the_limits_hold(open_box: Sandbox, what: str, tmp_path: Path) -> None:
    path = tmp_path / "made"
    reply = open_box.ask({"do": what, "path": str(path)})
    assert _failure(reply) in BREAKING[what], reply
    assert not path.exists()
    assert open_box.ask({"do": "warm"}) == {"values": "warm"}


def test_no_variable_of_this_process_goes_along(open_box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "key")
    open_box.close()
    assert open_box.ask({"do": "environment"})["values"] == ["LC_ALL", "PATH"]


def test_what_a_job_left_behind_is_killed(open_box: Sandbox) -> None:
    if os.getuid() != 0:
        assert _failure(open_box.ask({"do": "leave a child"})) == "crashed"
        return
    assert _failure(open_box.ask({"do": "leave a child"})) == "timeout"
    children = psutil.Process().children(recursive=True)
    commands = [
        " ".join(child.as_dict(["cmdline"], ad_value=[])["cmdline"]) for child in children
    ]  # a zombie has none
    assert [command for command in commands if "hostile" in command] == []


def _failure(reply: dict[str, Any]) -> str:
    """Failures of the process, and of the job within it, which says them as the only value."""
    values = reply.get("values")
    first = values[0] if isinstance(values, list) and values else {}
    return str(reply.get("failure") or (first.get("failure") if isinstance(first, dict) else ""))
