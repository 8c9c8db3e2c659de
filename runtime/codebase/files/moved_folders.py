"""Notices folders that are moved, also where they are back in their place behind it. Effects block.

Files in a folder that is moved keep all that can be asked of them. The system's own notices of moves tell it on Linux;
elsewhere, and where it gives no more of them, a folder's times do: a move changes the one of its status alone.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_MOVED_ITSELF = 0x00000800
_OVERFLOWN = 0x00004000
_DONT_FOLLOW = 0x02000000
_ONLY_FOLDERS = 0x01000000
_EVENT = struct.Struct("iIII")
_READ_BYTES = 65_536
# What one folder is known by: which one it is, and when its entries and its status were last changed.
_Mark = tuple[int, int, int]


class FolderWatch:
    """Watches folders below `root` by their relative paths, and all that lead there, until it is closed."""

    def __init__(self, root: Path, folders: Iterable[str]) -> None:
        """Begin to watch; one that is no folder is not watched."""
        around = {str(place): place for place in (root, *root.parents) if place != place.parent}
        self._places = around | {name: root / name for name in folders if name}
        self._marks = {name: mark for name, place in self._places.items() if (mark := _mark(place)) is not None}
        self._watched: dict[int, str] = {}
        self._queue = _opened(self._watched, {name: self._places[name] for name in self._marks})

    def moved(self) -> tuple[str, ...]:
        """Return which folders were moved since this began, in order: below the root by path, others in full."""
        if self._queue is None:
            return tuple(name for name, mark in self._marks.items() if _was_moved(mark, _mark(self._places[name])))
        found: set[str] = set()
        while data := _read(self._queue):
            at = 0
            while at < len(data):
                watch, kinds, _cookie, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                if kinds & _OVERFLOWN:
                    found.update(self._marks)
                elif kinds & _MOVED_ITSELF:
                    found.add(self._watched[watch])
        return tuple(name for name in self._marks if name in found)

    def close(self) -> None:
        """Stop watching."""
        if self._queue is not None:
            os.close(self._queue)
            self._queue = None

    def __enter__(self) -> FolderWatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _opened(watched: dict[int, str], places: dict[str, Path]) -> int | None:
    """Return the queue of notices about some folders; None where the system gives none, or not of so many."""
    if sys.platform != "linux":
        return None
    system = ctypes.CDLL(None, use_errno=True)
    queue: int = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if queue < 0:
        return None
    for name, place in places.items():
        watch = system.inotify_add_watch(queue, os.fsencode(place), _MOVED_ITSELF | _DONT_FOLLOW | _ONLY_FOLDERS)
        if watch < 0:
            os.close(queue)
            return None
        watched[watch] = name
    return queue


def _read(queue: int) -> bytes:
    try:
        return os.read(queue, _READ_BYTES)
    except BlockingIOError:
        return b""


def _mark(place: Path) -> _Mark | None:
    try:
        stat = place.stat(follow_symlinks=False)
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns


def _was_moved(before: _Mark, now: _Mark | None) -> bool:
    """Return whether a folder is another one, or was moved: new entries change both of its times."""
    return now is None or now[0] != before[0] or (now[1] == before[1] and now[2] != before[2])
