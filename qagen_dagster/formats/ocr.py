"""Text recognition of one picture by the `tesseract` program, if it is installed."""

import io
import re
import shutil
import signal
import subprocess
import warnings
from functools import cache

from PIL import Image

from qagen_dagster.errors import DocumentError
from qagen_dagster.records.document import Outcome

_LANGUAGE = re.compile(r"[A-Za-z0-9_/]{2,40}")
_ROTATE = re.compile(r"Rotate: (\d+)")
_CONFIDENCE = re.compile(r"Orientation confidence: ([0-9.]+)")
_SURE = 1.0  # tesseract's orientation confidence; a page of ordinary text reaches 3 to 25
_MAX_PIXELS = 120_000_000  # maximum of a picture that may be rotated
_UNREADABLE = "text recognition could not read the picture"
_CONTROL = {code: None for code in (*range(0x20), 0x7F, 0xAD) if code != 0x0A}
_TURN = {
    90: Image.Transpose.ROTATE_270,  # tesseract counts clockwise, Pillow counter-clockwise
    180: Image.Transpose.ROTATE_180,
    270: Image.Transpose.ROTATE_90,
}


def tesseract_available() -> bool:
    """Whether the `tesseract` program is on the search path."""
    return shutil.which("tesseract") is not None


def ocr_image(data: bytes, languages: str, *, seconds: int = 60) -> str | None:
    """The text of a picture, whatever its orientation.

    Args:
        data: an encoded picture (PNG, JPEG, TIFF, ...).
        languages: tesseract's language codes joined by `+`; codes whose data is not installed are ignored.
        seconds: limit of processor time for the orientation, and again for the text.

    Returns:
        The lines as laid out; "" if the picture shows no text; None if tesseract or all requested languages are not
        installed.

    Raises:
        DocumentError: `timeout`, `crashed` if tesseract cannot be started, or `corrupt` if the picture cannot be read.
    """
    program = shutil.which("tesseract")
    wanted = _usable(program, languages) if program else ""
    if not program or not wanted:
        return None
    upright = _upright(program, data, seconds)
    done = _run([program, "stdin", "stdout", "-l", wanted, "--psm", "3"], upright, seconds)
    if done.returncode != 0:
        raise DocumentError(Outcome.CORRUPT, _UNREADABLE)
    return _tidy(done.stdout.decode("utf-8", "replace"))


def _usable(program: str, languages: str) -> str:
    asked = [code for code in languages.split("+") if _LANGUAGE.fullmatch(code)]
    have = _installed(program)
    return "+".join(code for code in asked if code in have)


@cache
def _installed(program: str) -> frozenset[str]:
    done = _run([program, "--list-langs"], b"", 20)
    listing = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
    return frozenset(line.strip() for line in listing if _LANGUAGE.fullmatch(line.strip()))


def _upright(program: str, data: bytes, seconds: int) -> bytes:
    """The picture, rotated to the upright position that tesseract detects; unchanged if tesseract is uncertain."""
    if "osd" not in _installed(program):
        return data
    done = _run([program, "stdin", "stdout", "--psm", "0"], data, seconds)
    report = (done.stdout + done.stderr).decode("utf-8", "replace")
    angle, sure = _ROTATE.search(report), _CONFIDENCE.search(report)
    if done.returncode != 0 or not angle or not sure or float(sure[1]) < _SURE:
        return data
    turn = _TURN.get(int(angle[1]))
    return data if turn is None else _turned(data, turn)


def _turned(data: bytes, turn: Image.Transpose) -> bytes:
    out = io.BytesIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as picture:
                if picture.width * picture.height > _MAX_PIXELS:
                    return data
                picture.transpose(turn).save(out, "PNG", compress_level=1)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DocumentError(Outcome.CORRUPT, _UNREADABLE) from error
    return out.getvalue()


def _run(command: list[str], data: bytes, seconds: int) -> subprocess.CompletedProcess[bytes]:
    """Run the program with a limit of processor time; the program reads the picture from standard input.

    The program may use one core only. Several threads would wait actively for each other, and take many times as long on a busy machine.
    Raises DocumentError `timeout` or `crashed`.
    """
    limited = 'ulimit -t "$0" && OMP_THREAD_LIMIT=1 exec "$@"'
    try:
        done = subprocess.run(  # noqa: S603 (the shell reads only this text)
            ["/bin/sh", "-c", limited, str(seconds), *command], input=data, capture_output=True, check=False
        )
    except OSError as error:
        raise DocumentError(Outcome.CRASHED, "text recognition could not be started") from error
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise DocumentError(Outcome.TIMEOUT, "text recognition took too long")
    return done


def _tidy(text: str) -> str:
    """Lines without control characters, repeated empty lines and trailing blanks."""
    lines = (line.translate(_CONTROL).rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
