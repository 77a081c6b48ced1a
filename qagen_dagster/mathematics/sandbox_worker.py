"""Does the jobs of the sandbox in its worker process, which forks a warm child with hard limits for each job."""

import contextlib
import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qagen_dagster.mathematics.evaluator import FormError, FormFailure, evaluate, parse_form
from qagen_dagster.worker_process import address_space

_MOST_BYTES = 1_000_000  # maximum bytes of a reply
_REPLY = 0  # the file descriptor to which a computing process writes its reply
_WARM_UP = (
    "sqrt(2)*pi**2/3 + sin(pi/7) + cos(1)*tan(1) + cot(1)+sec(1)+csc(1)",
    "asin(1/3)+acos(1/3)+atan(2)+atan2(1,2)+sinh(1)+cosh(1)+tanh(1)+exp(1/2)+log(3)+ln(2)+log(8,2)",
    "factorial(5)+binomial(6,2)+gcd(4,6)+lcm(4,6)+floor(5/2)+ceiling(5/2)+Mod(7,3)+Min(1,pi)+Max(2,E)+cbrt(2)+root(5,4)+Abs(-2)",
    "Sum(k**2,(k,1,4))+Product(k,(k,1,4))+integrate(x**2*sin(x)+exp(x)/2+1/(1+x),(x,0,1))",
    "diff(x**3*sin(x)+log(x),x)+limit(sin(x)/x,x,0)+solve(x**2-3*x+1,x)[0]+solve(x**3-x-1,x)[0]+(F+1)**3",
)
Compute = Callable[[Any], object]


@dataclass(frozen=True)
class Task:
    """An expression with its givens; the names in `free` are positive symbols."""

    expression: str
    givens: Mapping[str, str] = field(default_factory=dict[str, str])
    free: frozenset[str] = frozenset()


def prepare(hello: tuple[float, int, Compute]) -> Compute:
    """The function that does the jobs. `hello` has the seconds and the bytes of memory of a job, and the function that computes a job."""
    seconds, memory_bytes, compute = hello
    # Warm up here, because a limited process cannot open the files of modules
    compute([Task(one, {"x": "2"}, frozenset("F")) for one in _WARM_UP])
    return lambda job: _answer(job, seconds, memory_bytes, compute)


def compute_forms(tasks: Sequence[Task]) -> object:
    """The result of each task: `exact` and `numbers`, or `failure` and `detail`."""
    return [_one(task) for task in tasks]


def _one(task: Task) -> dict[str, object]:
    try:
        exact, numbers = evaluate(parse_form(task.expression, task.givens, task.free))
        return {"exact": exact, "numbers": numbers}
    except FormError as error:
        return {"failure": error.failure.value, "detail": error.detail}
    except MemoryError:
        return {"failure": FormFailure.OUT_OF_MEMORY.value, "detail": "memory ran out"}
    except RecursionError:
        return {"failure": FormFailure.TOO_LARGE.value, "detail": "nested too deep"}


def _answer(job: object, seconds: float, memory_bytes: int, compute: Compute) -> dict[str, object]:
    reading, writing = os.pipe()
    child = os.fork()  # this process has one thread
    if child == 0:
        os.close(reading)
        _child(job, seconds, memory_bytes, compute, writing)
    os.close(writing)
    try:
        data = _read(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return _reply(data, status)


def _reply(data: bytes | None, status: int) -> dict[str, object]:
    if data is None:
        return {"failure": FormFailure.TIMEOUT.value, "detail": "not done in time"}
    with contextlib.suppress(ValueError):
        return {"values": json.loads(data)}
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number in (signal.SIGXCPU, signal.SIGKILL) and not data:
        return {"failure": FormFailure.TIMEOUT.value, "detail": "its processor time ran out"}
    how = signal.Signals(number).name if number else f"exit code {os.waitstatus_to_exitcode(status)}"
    return {"failure": FormFailure.CRASHED.value, "detail": f"the process ended with {how}"}


def _read(descriptor: int, deadline: float) -> bytes | None:
    """Everything up to the end of file, or up to the limit of a reply; None if it has not come by the deadline."""
    data = b""
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([descriptor], [], [], left)
        if not ready:
            return None
        piece = os.read(descriptor, 65_536)
        data += piece
        if not piece or len(data) > _MOST_BYTES:
            return data
    return None


def _child(job: object, seconds: float, memory_bytes: int, compute: Compute, writing: int) -> None:
    """Compute under limits that cannot be lifted, write the reply, and exit."""
    try:
        os.dup2(writing, _REPLY)
        os.closerange(_REPLY + 1, 1_024)  # also the connection to the parent
        _limit(seconds, memory_bytes)
        os.write(_REPLY, json.dumps(compute(job)).encode()[:_MOST_BYTES])
    except MemoryError:
        os.write(_REPLY, b'[{"failure": "out_of_memory", "detail": "memory ran out"}]')
    except Exception as error:  # whatever a harmful job raises becomes its outcome
        detail = f"{type(error).__name__}: {error}"[:200]
        os.write(_REPLY, json.dumps([{"failure": "crashed", "detail": detail}]).encode())
    finally:
        os._exit(0)


def _limit(seconds: float, memory_bytes: int) -> None:
    whole = max(1, int(seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if used := address_space():
        resource.setrlimit(resource.RLIMIT_AS, (used + memory_bytes, used + memory_bytes))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))  # prevents opening files and sockets
