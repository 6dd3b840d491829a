"""Single keys of many tasks of an event loop, looked up in batches: :class:`Together`."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, Generic, TypeVar

from ._batches import BATCH_KEYS

Answer = TypeVar("Answer")

#: Calls at a time. They share the keys: with all in one call, the disk waits while tasks run, and tasks while the disk reads.
_CALLS = 2
#: Keys of a call, if there are as many: more calls for few keys cost more than they save.
_KEYS_MIN = 32


class Together(Generic[Answer]):
    """Makes a batch method one for single keys, for tasks: ``get = Together(index.get_many)``, then ``await get(key)``.

    ``call`` takes a list of keys and returns an answer for each: :meth:`FlashIndex.get_many`, :meth:`FlashFilter.contains_many`,
    :meth:`FlashFilter.add_new_many`. Two calls share the keys of a turn of the event loop, in threads of ``executor``, by default that of
    the loop. While both run, keys gather for the next one. So a key waits for at most two calls, and reads are as deep as there are tasks.
    Of tasks that add the same key at the same time, any one is told that it is new. If a call raises, all of its tasks do, but for a
    ``ValueError``, which only those with a wrong key get. A task that is cancelled does not take back its key. Tasks are of one event loop,
    until that is closed.
    """

    def __init__(self, call: Callable[[list[bytes | str]], Sequence[Answer]], executor: Executor | None = None) -> None:
        self._call, self._executor = call, executor
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(self, key: bytes | str) -> asyncio.Future[Answer]:
        if not isinstance(key, (bytes, str)):
            raise TypeError(f"the key is {type(key).__name__}, expected bytes or str")
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            #: If there are any and not all calls run, `_begin` follows in the next turn of the event loop.
            self._waiting: list[tuple[bytes | str, asyncio.Future[Answer]]] = []
            self._running = 0
        answer: asyncio.Future[Answer] = loop.create_future()
        if not self._waiting and self._running < _CALLS:
            loop.call_soon(self._begin, loop)
        self._waiting.append((key, answer))
        return answer

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._running < _CALLS:
            share = min(BATCH_KEYS, max(_KEYS_MIN, -(-len(self._waiting) // (_CALLS - self._running))))
            batch, self._waiting = self._waiting[:share], self._waiting[share:]
            self._running += 1
            try:
                done = loop.run_in_executor(self._executor, self._answers, [key for key, _ in batch])
            except RuntimeError as error:  # It was shut down.
                done = loop.create_future()
                done.set_exception(error)
            done.add_done_callback(functools.partial(self._told, loop, batch))

    def _answers(self, keys: list[bytes | str]) -> Iterable[Any]:
        """An answer for each key, or what it raises."""
        try:
            return self._call(keys)
        except ValueError as error:
            # A call checks all of its keys before it takes one.
            return [error] if len(keys) == 1 else [answer for key in keys for answer in self._answers([key])]

    def _told(self, loop: asyncio.AbstractEventLoop, batch: list[tuple[Any, asyncio.Future[Any]]], done: asyncio.Future[Any]) -> None:
        raised = done.exception()
        for (_, future), answer in zip(batch, [raised] * len(batch) if raised else done.result()):
            if future.done():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        self._running -= 1
        if self._waiting:
            # After the tasks that go on now, which may ask for more.
            loop.call_soon(self._begin, loop)
