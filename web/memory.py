"""Results that took long, kept in the memory of this process: bounded, and never those of other data.

A result is found by what went into it: the name of the function and a hash of all its arguments, arrays included, or of
a fingerprint of stored content. Where a job goes on, or a neighbour is loaded, what goes in is something else, so that
nothing here has to be told of it. Nobody's rights are in it: what a request reads, and what it shows of a result, are
decided for each request anew. Each worker process of a server has a memory of its own.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

import numpy as np

__all__ = ["Memory", "key_of", "remembered", "remembered_of_jobs"]

MOST_BYTES = 64 << 20  # of all results of a process
_LOCKS = 64  # results that are worked out at the same time without waiting for each other, by and large

T = TypeVar("T")


class Memory:
    """At most `most_bytes` of results; those that were not asked for longest go first, and one larger than a quarter of
    that is not kept. They are held as bytes, so that whoever gets one may change it. Safe in threads: who asks for what
    another is just working out waits for it.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._held: OrderedDict[bytes, bytes] = OrderedDict()
        self._size = 0
        self._lock = Lock()
        self._working = tuple(Lock() for _ in range(_LOCKS))

    def recall(self, key: bytes, make: Callable[[], T]) -> T:
        """The result of that key; what `make` gives where there is none. What `make` raises is raised, not kept."""
        with self._working[key[0] % _LOCKS]:
            blob = self._get(key)
            if blob is not None:
                return pickle.loads(blob)  # noqa: S301 (we wrote it, and it never left this process)
            made = make()
            self._keep(key, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
            return made

    @property
    def size(self) -> int:
        """Bytes of all results that are held."""
        return self._size

    def _get(self, key: bytes) -> bytes | None:
        with self._lock:
            blob = self._held.get(key)
            if blob is not None:
                self._held.move_to_end(key)
            return blob

    def _keep(self, key: bytes, blob: bytes) -> None:
        if len(blob) > self._most // 4:
            return
        with self._lock:
            self._held[key] = blob
            self._size += len(blob)
            while self._size > self._most:
                _, gone = self._held.popitem(last=False)
                self._size -= len(gone)


_memory = Memory()


def remembered(make: Callable[[], T], *parts: object) -> T:
    """What `make` gives, which depends on nothing but `parts` (as of `key_of`): worked out once, while it is held."""
    return _memory.recall(key_of(*parts), make)


def remembered_of_jobs(make: Callable[[], T], name: str, contents: tuple[tuple[int, str | None], ...]) -> T:
    """What `make` gives, which depends on nothing but what is stored of these jobs, (key, digest) of each. One that was
    ended as lost has no digest that would tell what is stored of it: then it is worked out anew.
    """
    if not all(digest for _, digest in contents):
        return make()
    return remembered(make, name, contents)


def key_of(*parts: object) -> bytes:
    """What a result of these is found by, 32 bytes. They are arrays of numbers, text, numbers, None and tuples of them.
    TypeError: anything else.
    """
    state = hashlib.blake2b(digest_size=32)
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype.kind in "biuf":
            state.update(f"array {part.dtype.str} {part.shape}\0".encode())
            state.update(np.ascontiguousarray(part).data)
        elif isinstance(part, tuple):
            state.update(b"tuple\0" + key_of(*part))
        elif part is None or isinstance(part, str | int | float):
            text = repr(part).encode()
            state.update(f"{type(part).__name__} {len(text)}\0".encode() + text)
        else:
            raise TypeError(f"no result is found by a {type(part).__name__}")
    return state.digest()
