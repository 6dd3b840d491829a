"""Scrapy: no page twice, none lost, even after a kill. One line of settings: ``ADDONS = {"springflash.scrapy.Addon": 500}``.

Fingerprints are in a :class:`~springflash.FlashIndex`, so the filter is exact and needs little memory. The index is the folder ``seen`` of
``JOBDIR``, or ``SPRINGFLASH_SEEN``. It keeps a scheduled request until its callback has ended and the item pipelines have its items. A
kill loses Scrapy's own queue; the next start schedules these requests again: pages in flight, which can only be lost or requested again,
and those of the last ``SPRINGFLASH_COMMIT_PAGES`` (100), whose items are delivered again. With 1, a kill repeats a page's items only
between the pipelines and the commit. Items that Scrapy's feeds keep in memory are lost. A crawl that was stopped repeats nothing.

A page is also finished if it redirects to one that the spider has seen, because Scrapy drops that request, or if Scrapy does not pass it to
the callback because of its status. Failed downloads, redirects that a middleware drops, and callbacks that raise are repeated after each
kill.

Spiders of one process may share a folder; each sees its own requests. Start requests with ``dont_filter``, such as those of ``start_urls``,
are fetched at every start. Those that a callback yields are kept like others, each on its own.

A kill loses requests that cannot be stored: those whose callback is not a method of the spider, or with more than 65,536 bytes. A warning
names each. A stored request that cannot be loaded, because its callback was renamed for example, waits for a start at which it can.
"""

from __future__ import annotations

import logging
import os
import pickle
import shutil
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object
from scrapy.utils.request import request_from_dict

from ._filter import shown
from ._index import FlashIndex

logger = logging.getLogger(__name__)

#: The keys that a request, and those that it was redirected or retried from, have in the index. It is in the ``meta`` until the response
#: leaves the downloader, so that no other request takes it over.
_KEYS = "springflash_keys"
#: Marks a request that was put in the index before Scrapy asks whether it was seen.
_KEPT = "springflash_kept"
#: The value of a request whose callback has ended.
_DONE = b""
#: The value of a spider's own key while it runs, and when it was stopped.
_RUNS, _STOPPED = b"runs", b"stopped"
_VALUE_BYTES_MAX = 65_536

#: Indexes that spiders of this process have open, with the number of those spiders.
_open: dict[Path, tuple[FlashIndex, int]] = {}
_filters: WeakKeyDictionary[Crawler, DupeFilter] = WeakKeyDictionary()


def _commit_pages(setting: Any) -> int:
    try:
        pages = int(setting)
    except (TypeError, ValueError):
        pages = 0
    if pages < 1:
        raise ValueError(f"SPRINGFLASH_COMMIT_PAGES is {shown(setting)}, expected a whole number above 0")
    return pages


class Addon:
    """Sets what is needed of Scrapy's settings."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings.set("DUPEFILTER_CLASS", DupeFilter, "addon")
        # Nearest to the engine, so that all other middlewares have seen a page when it is done. With the priority of the program's own.
        for name in ("SPIDER_MIDDLEWARES", "DOWNLOADER_MIDDLEWARES"):
            settings.set(name, {**settings.getdict(name), DoneMiddleware: 1}, max(15, settings.getpriority(name) or 0))
        name = "ITEM_PROCESSOR"
        processor = type("ItemProcessor", (_ItemProcessor, load_object(settings[name])), {})
        settings.set(name, processor, max(15, settings.getpriority(name) or 0))


class DupeFilter(BaseDupeFilter):
    """Scrapy's ``DUPEFILTER_CLASS`` that :class:`Addon` sets."""

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        job = settings["JOBDIR"]
        folder = settings["SPRINGFLASH_SEEN"] or (job and Path(job) / "seen")
        if not folder:
            raise ValueError("springflash.scrapy needs a folder: set JOBDIR or SPRINGFLASH_SEEN")
        self._commit_pages = _commit_pages(settings.get("SPRINGFLASH_COMMIT_PAGES", 100))
        self._crawler = crawler
        self._folder = Path(folder).resolve()
        index, users = _open.get(self._folder, (None, 0))
        self._index = index or FlashIndex(self._folder)
        _open[self._folder] = self._index, users + 1
        name = crawler.spidercls.name.encode()
        self._prefix = name + b"\0"
        # Requests with `dont_filter` may be equal, so each has a key of its own below this.
        self._unfiltered = name + b"\1"
        was_killed = self._index.get(self._prefix) == _RUNS
        # The queue on disk is whole only when Scrapy was stopped.
        self._has_pending = was_killed or not job
        if was_killed and job:
            shutil.rmtree(Path(job) / "requests.queue", ignore_errors=True)
        self._index[self._prefix] = _RUNS
        self._index.commit()
        self._done = 0
        self._has_unloaded = False
        _filters[crawler] = self
        crawler.signals.connect(self._schedule_again, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DupeFilter:
        return cls(crawler)

    def request_seen(self, request: Request) -> bool:
        if request.meta.pop(_KEPT, False):
            return False
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None
        key = self._prefix + fingerprinter.fingerprint(request)
        # Most links are known, and keeping a request costs more than to ask for it. Nothing else puts this spider's keys meanwhile.
        # A request that a program makes from one in flight has its `meta`, too, and was not redirected from it.
        before = request.meta.get(_KEYS, []) if "redirect_urls" in request.meta else []
        if key in self._index:
            # What was redirected here ends here, unless it is the same: that may be scheduled twice by a program.
            if before and key not in before:
                self.done(before)
            return True
        request.meta[_KEYS] = [*before, key]
        self._index[key] = self._kept(request)
        return False

    def keep(self, request: Request) -> None:
        """Keeps a request that a callback yields. Scrapy may schedule it only when the callback has ended."""
        # It may have the `meta` of its page, and is done apart from it.
        request.meta.pop(_KEYS, None)
        if not request.dont_filter:
            if not self.request_seen(request):
                request.meta[_KEPT] = True
            return
        key = self._unfiltered + os.urandom(16)
        request.meta[_KEYS] = [key]
        kept = self._kept(request)
        if kept != _DONE:
            self._index[key] = kept

    def _kept(self, request: Request) -> bytes:
        try:
            kept = pickle.dumps(request.to_dict(spider=self._crawler.spider), protocol=4)
        except Exception as error:  # What is in a request may raise anything.
            return self._not_kept(request, error)
        return kept if len(kept) <= _VALUE_BYTES_MAX else self._not_kept(request, f"{len(kept)} bytes")

    def _not_kept(self, request: Request, reason: object) -> bytes:
        logger.warning("%s is lost if Scrapy is killed before it is fetched: %s", request, reason)
        return _DONE

    def done(self, keys: Iterable[bytes]) -> None:
        """Takes note that a page is done. The requests that it yielded were put before, so they are never lost alone."""
        for key in keys:
            if key.startswith(self._unfiltered):
                self._index.pop(key, None)
            else:
                self._index[key] = _DONE
        self._done += 1
        if self._done % self._commit_pages == 0:
            self._index.commit()

    def _schedule_again(self, spider: Any) -> None:
        if not self._has_pending or spider is not self._crawler.spider:
            return
        engine = self._crawler.engine
        assert engine is not None
        count = 0
        for key, value in self._index.items():
            if value == _DONE or key == self._prefix or not key.startswith((self._prefix, self._unfiltered)):
                continue
            try:
                request = request_from_dict(pickle.loads(value), spider=spider)
            except Exception:
                logger.exception("A request of the crawl before cannot be loaded, and is kept for the next start: key %s", key.hex())
                self._has_unloaded = True
                continue
            if not request.dont_filter:
                request.meta[_KEPT] = True
            engine.crawl(request)
            count += 1
        logger.info("%d requests of the crawl before are scheduled again", count)

    def close(self, reason: str) -> None:
        # What could not be loaded is in no queue of Scrapy's, so the next start takes all from the index.
        self._index[self._prefix] = _RUNS if self._has_unloaded else _STOPPED
        self._index.commit()
        index, users = _open[self._folder]
        _open[self._folder] = index, users - 1
        if users == 1:
            del _open[self._folder]
            index.close()

    def log(self, request: Request, spider: Any) -> None:
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value("dupefilter/filtered")


class _Page:
    """A page whose callback runs, or whose items are in the pipelines."""

    def __init__(self, known: DupeFilter, response: Response) -> None:
        self._known = known
        self._keys: list[bytes] = [] if response.request is None else _arrived.get(response.request, [])
        #: The callback, and items that are in the pipelines.
        self._unfinished = 1

    def yields(self, output: Any) -> None:
        if isinstance(output, Request):
            self._known.keep(output)
        elif output is not None:
            self._unfinished += 1
            _in_pipelines.setdefault(id(output), []).append((output, self))

    def finished(self) -> None:
        """The callback has ended, or the pipelines have an item."""
        self._unfinished -= 1
        if self._unfinished == 0:
            self._known.done(self._keys)


#: The keys of requests that have left the downloader.
_arrived: WeakKeyDictionary[Request, list[bytes]] = WeakKeyDictionary()
#: Items by their identity, which no other object has meanwhile, with the pages that yielded them.
_in_pipelines: dict[int, list[tuple[Any, _Page]]] = {}


def _left_pipelines(item: Any) -> None:
    pages = _in_pipelines.get(id(item))
    if pages is not None:
        _, page = pages.pop()
        if not pages:
            del _in_pipelines[id(item)]
        page.finished()


class _ItemProcessor:
    """Before Scrapy's ``ITEM_PROCESSOR``. Nothing else runs between the pipelines and the note that a page is done."""

    async def process_item_async(self, item: Any) -> Any:
        try:
            processed = await super().process_item_async(item)  # type: ignore[misc]
        except Exception:  # The item is dropped.
            _left_pipelines(item)
            raise
        _left_pipelines(item)
        return processed


class DoneMiddleware:
    """Tells :class:`DupeFilter` what a callback yields, and when it has ended and the pipelines have its items. Is also the last middleware
    of the downloader that a response passes: what another one makes of it, such as a redirect, does not come here."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DoneMiddleware:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        self._leaves_downloader(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        self._leaves_downloader(request)

    def _leaves_downloader(self, request: Request) -> None:
        _arrived[request] = request.meta.pop(_KEYS, [])

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for request in start:
            if isinstance(request, Request):
                # It may be made of one that was scheduled.
                request.meta.pop(_KEYS, None)
            yield request

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        known = _filters.get(self._crawler)
        page = None if known is None else _Page(known, response)
        async for output in result:
            if page is not None:
                page.yields(output)
            yield output
        if page is not None:
            page.finished()
