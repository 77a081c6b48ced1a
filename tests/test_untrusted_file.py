from __future__ import annotations

import os
from pathlib import Path, PosixPath

import pytest

from qagen_dagster.errors import TooLargeError
from qagen_dagster.untrusted_file import open_file, read_file


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "sub").mkdir(parents=True)
    (tmp_path / "home" / "sub" / "a.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path.resolve() / "home"


def test_a_regular_file_is_read_within_its_limit(home: Path) -> None:
    assert read_file(home / "sub" / "a.txt", 6, home) == b"inside"
    with pytest.raises(TooLargeError, match="6 bytes; the limit is 5") as error:
        read_file(home / "sub" / "a.txt", 5)
    assert error.value.size == 6


def test_what_is_no_regular_file_is_refused_at_once(home: Path) -> None:
    os.mkfifo(home / "pipe")
    (home / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):
        with pytest.raises(OSError, match="it is not a regular file"):
            open_file(home / name)
    with pytest.raises(OSError, match="it is not a regular file"):
        open_file(home / "pipe", home)
    for within in (None, home):
        with pytest.raises(IsADirectoryError):
            open_file(home / "sub", within)
    with pytest.raises(FileNotFoundError):
        open_file(home / "absent", home)


def test_links_are_followed_only_inside_the_folder(home: Path) -> None:
    (home / "again.txt").symlink_to("sub/a.txt")
    (home / "other").symlink_to("sub")
    assert read_file(home / "again.txt", 99, home) == b"inside"
    assert read_file(home / "other" / "a.txt", 99, home) == b"inside"
    (home / "out.txt").symlink_to(home.parent / "secret.txt")
    (home / "up").symlink_to(home.parent)
    assert read_file(home / "out.txt", 99) == b"secret"
    for name in ("out.txt", "up/secret.txt", "../secret.txt"):
        with pytest.raises(OSError, match="it is a link out of home/"):
            open_file(home / name, home)


class Swapped(PosixPath):
    """A path that was resolved before its folder became a link."""

    def resolve(self, strict: bool = False) -> Path:
        return Path(self)


def test_a_link_that_appears_after_the_check_is_not_followed(home: Path) -> None:
    (home / "up").symlink_to(home.parent)
    (home / "out.txt").symlink_to(home.parent / "secret.txt")
    for name in ("up/secret.txt", "out.txt"):
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            open_file(Swapped(home / name), home)
    assert read_file(Swapped(home / "sub" / "a.txt"), 99, home) == b"inside"
