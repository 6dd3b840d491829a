"""Single keys of many tasks of an event loop, looked up in batches: :class:`Together`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, Generic, TypeVar

from ._batches import BATCH_KEYS

Answer = TypeVar("Answer")

#: Calls at a time: while one waits for the disk, the keys for the other gather.
_CALLS = 2


class Together(Generic[Answer]):
    """Makes a batch method one for single keys, for tasks: ``get = Together(index.get_many)``, then ``await get(key)``.

    ``call`` takes a list of keys and returns an answer for each: :meth:`FlashIndex.get_many`, :meth:`FlashFilter.contains_many`,
    :meth:`FlashFilter.add_new_many`. Keys gather while two calls run in threads of ``executor``, by default that of the event loop, and the
    next call takes all of them. So a key waits for at most two calls, and reads are as deep as there are tasks. If a call raises, all of
    its tasks do, but for a ``ValueError``, which only those with a wrong key get. A task that is cancelled does not take back its key.
    """

    def __init__(self, call: Callable[[list[bytes | str]], Sequence[Answer]], executor: Executor | None = None) -> None:
        self._call, self._executor = call, executor
        self._waiting: list[tuple[bytes | str, asyncio.Future[Answer]]] = []
        #: Calls that run, or will when the tasks of this turn of the event loop have asked.
        self._calls = 0

    def __call__(self, key: bytes | str) -> asyncio.Future[Answer]:
        if not isinstance(key, (bytes, str)):
            raise TypeError(f"the key is {type(key).__name__}, expected bytes or str")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((key, answer))
        if self._calls < _CALLS:
            self._calls += 1
            loop.call_soon(self._go_on, loop)
        return answer

    def _go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._waiting = self._waiting[:BATCH_KEYS], self._waiting[BATCH_KEYS:]
        if not batch:
            self._calls -= 1
            return
        keys = [key for key, _ in batch]
        loop.run_in_executor(self._executor, self._answers, keys).add_done_callback(lambda done: self._told(loop, batch, done))

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
        self._go_on(loop)
