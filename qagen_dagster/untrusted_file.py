"""Opens local files that other people supply. The type, the place and the size of a file are checked before a byte is read.

The checks apply to the open descriptor, so a file that replaces a checked file is not read in its place.
"""

import errno
import os
import stat
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path

from qagen_dagster.errors import TooLargeError

# O_NONBLOCK: a FIFO without a writer is opened at once, and then refused.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_file(path: Path, within: Path | None = None) -> BufferedReader:
    """Open a regular file. With `within`, a folder's path without links, the file must be in that folder.

    Raises OSError, also for a folder, a FIFO, a device and a link out of `within`.
    """
    descriptor = os.open(path, _FILE) if within is None else _open_inside(path, within)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_file(path: Path, max_bytes: int, within: Path | None = None) -> bytes:
    """The content of a regular file. Raises OSError as `open_file` does, and TooLargeError."""
    with open_file(path, within) as file:
        return file.read(checked_size(file, max_bytes))


def checked_size(file: BufferedReader, max_bytes: int) -> int:
    """The size of an open file. Raises TooLargeError."""
    size = os.fstat(file.fileno()).st_size
    if size > max_bytes:
        raise TooLargeError(size, max_bytes)
    return size


def _open_inside(path: Path, within: Path) -> int:
    """Open a file, folder by folder. The links in `path` are resolved first; a link that appears after that is refused."""
    real = path.resolve(strict=True)
    if not real.is_relative_to(within):
        raise OSError(errno.EPERM, f"it is a link out of {within.name}/")
    *folders, name = real.relative_to(within).parts or (".",)
    with ExitStack() as opened:
        here = os.open(within, _FOLDER)
        opened.callback(os.close, here)
        for folder in folders:
            here = os.open(folder, _FOLDER, dir_fd=here)
            opened.callback(os.close, here)
        return os.open(name, _FILE | os.O_NOFOLLOW, dir_fd=here)
