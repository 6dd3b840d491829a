"""Real crawls of local sites, stopped and killed. SPRINGFLASH_PAGES=12500 makes them larger, with eight spiders in four processes instead
of two in one, and three stops or kills."""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import benchmark
import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler

from springflash import FlashIndex
from springflash.scrapy import DupeFilter

PAGES = int(os.environ.get("SPRINGFLASH_PAGES", "150"))
IS_LONG = PAGES > 1000
#: The spiders of each process.
PROCESSES = ["ab", "cd", "ef", "gh"] if IS_LONG else ["ab"]
SPIDERS = "".join(PROCESSES)
TOTAL = PAGES * len(SPIDERS)
STOPS = 3 if IS_LONG else 1
CONCURRENT = 8

CRAWL = """
import json, os, resource, sys
import scrapy
from scrapy.crawler import CrawlerProcess

site, settings, paths, items = sys.argv[1:]

class Pages(scrapy.Spider):
    async def start(self):
        yield scrapy.Request(f"{site}{self.path}/0")

    def parse(self, response):
        yield {"page": response.url.removeprefix(site)}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)

class Deliver:
    def __init__(self):
        self.file = os.open(items, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def process_item(self, item):
        os.write(self.file, item["page"].encode() + b"\\n")
        return item

settings = json.loads(settings)
job = settings.pop("JOBDIR", None)
process = CrawlerProcess({
    "ADDONS": {"springflash.scrapy.Addon": 500}, "CONCURRENT_REQUESTS": 8, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False,
    "ITEM_PIPELINES": {Deliver: 1}, **settings,
})
for name, path in json.loads(paths).items():
    # Scrapy needs a folder for each spider.
    own = {"JOBDIR": f"{job}/{name}"} if job else {}
    process.crawl(type(name, (Pages,), {"name": name, "path": path, "custom_settings": own}))
process.start()
"""


@pytest.fixture
def site(tmp_path):
    program = [sys.executable, Path(__file__).with_name("site_of_pages.py"), str(PAGES)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.kill()


def counts(site, of="counts"):
    with urllib.request.urlopen(f"{site}/{of}") as answer:
        return json.load(answer)


class Crawl:
    """Crawls to the end, after it was ended by signals on the way."""

    def __init__(self, child, site, items, arguments, ends=()):
        """`arguments` has, for each process, the settings and the paths that spiders crawl."""
        self.seed = random.randrange(1 << 32)
        print("seed", self.seed)
        rng = random.Random(self.seed)
        #: The most memory that a process had, after each start.
        self.peaks_mib = []
        for n, end in enumerate([*ends, None]):
            processes = [child(CRAWL, site, json.dumps(settings), json.dumps(paths), items) for settings, paths in arguments]
            until, peak_kib = rng.uniform(n + 0.2, n + 1) / (len(ends) + 1) * TOTAL, 0
            while any(process.poll() is None for process in processes) and (end is None or counts(site, "total") < until):
                time.sleep(0.1)
                peak_kib = max(peak_kib, *(benchmark.peak_kib(process.pid) for process in processes))
            self.peaks_mib.append(peak_kib >> 10)
            for process in processes:
                if end is not None:
                    process.send_signal(end)
            for process in processes:
                _, errors = process.communicate()
                assert "Traceback" not in errors, errors
                assert process.returncode in (0, -signal.SIGKILL if end == signal.SIGKILL else 0), errors
        #: How often each page was asked for, and delivered to a pipeline.
        self.asked = counts(site)
        self.delivered = collections.Counter(items.read_text().splitlines())


def paths(names):
    return {name: f"/{name}" for name in names}


def test_a_crawl_that_is_stopped_asks_for_each_page_once(tmp_path, child, site):
    # The program has middlewares of its own, or none.
    settings = {"JOBDIR": str(tmp_path / "job"), "SPIDER_MIDDLEWARES": {}}
    crawl = Crawl(child, site, tmp_path / "items", [(settings, paths(names)) for names in PROCESSES], [signal.SIGINT] * STOPS)
    assert len(crawl.asked) == TOTAL and set(crawl.asked.values()) == set(crawl.delivered.values()) == {1}
    for name in SPIDERS:
        with FlashIndex(tmp_path / "job" / name / "seen", "r") as index:
            assert sum(value == b"" for value in index.values()) == PAGES


@pytest.mark.parametrize("has_job", [True, False])
def test_a_crawl_that_is_killed_loses_no_page_and_asks_again_for_those_in_flight(tmp_path, child, site, record, has_job):
    def settings(names):
        folder = {"JOBDIR": str(tmp_path / "job")} if has_job else {"SPRINGFLASH_SEEN": str(tmp_path / names)}
        return {**folder, "SPRINGFLASH_COMMIT_PAGES": 1}

    arguments = [(settings(names), paths(names)) for names in PROCESSES]
    crawl = Crawl(child, site, tmp_path / "items", arguments, [signal.SIGKILL] * STOPS)
    lost, twice = TOTAL - len(crawl.delivered), sum(crawl.delivered.values()) - len(crawl.delivered)
    again = sum(crawl.asked.values()) - sum(crawl.delivered.values())
    figures = {"pages": TOTAL, "processes": len(PROCESSES), "spiders": len(SPIDERS), "kills": STOPS}
    figures |= {"lost": lost, "delivered_twice": twice, "asked_again_in_flight": again, "peaks_mib": crawl.peaks_mib}
    record("python-crawl", crawl.seed, **figures)
    assert lost == 0
    # A kill between the pipeline and the note that it has the page.
    assert twice <= STOPS * len(PROCESSES)
    # Pages that were asked for, and not delivered.
    assert again <= STOPS * len(SPIDERS) * 2 * CONCURRENT


def test_spiders_of_one_process_share_a_folder_and_see_their_own_requests(tmp_path, child, site):
    arguments = [({"SPRINGFLASH_SEEN": str(tmp_path / "seen")}, {"one": "", "other": ""})]
    for _ in range(2):  # The second time, nothing is left to fetch.
        crawl = Crawl(child, site, tmp_path / "items", arguments)
        assert len(crawl.asked) == PAGES and set(crawl.asked.values()) == set(crawl.delivered.values()) == {2}


def test_without_a_folder_it_says_what_to_set(tmp_path, child, site):
    assert "set JOBDIR or SPRINGFLASH_SEEN" in child(CRAWL, site, "{}", '{"a": "/a"}', tmp_path / "items").communicate()[1]


@pytest.mark.parametrize("setting", [0, -1, "x"])
def test_a_wrong_number_of_pages_is_refused_before_anything_is_written(tmp_path, setting):
    settings = {"JOBDIR": str(tmp_path / "job"), "SPRINGFLASH_COMMIT_PAGES": setting, "ADDONS": {"springflash.scrapy.Addon": 500}}
    crawler = Crawler(Spider, settings)
    with pytest.raises(ValueError, match=f"SPRINGFLASH_COMMIT_PAGES is {setting!r}, expected a whole number above 0"):
        DupeFilter(crawler)
    assert not (tmp_path / "job").exists()


KILLED = """
import asyncio, os, signal, sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import DropItem

site, folder, name, mode = sys.argv[1:]

class Pages(scrapy.Spider):
    async def start(self):
        yield self.page(0, None)

    def page(self, number, callback, **more):
        return scrapy.Request(f"{site}/{number}", callback, **more)

    def last(self, response):
        if mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        print(response.url.rpartition("/")[2], flush=True)

class Renamed(Pages):
    name = "renamed"

    def parse(self, response):
        for number in range(1, 10):
            yield self.page(number, self.last if number % 2 or mode == "renamed" else self.even)

    if mode != "renamed":
        def even(self, response):
            self.last(response)

class Inherited(Pages):
    name = "inherited"

    async def parse(self, response):
        self.is_child_done = asyncio.Event()
        yield self.page(1, self.child, meta=response.meta)
        if mode == "kill":
            await self.is_child_done.wait()
            await asyncio.sleep(0.5)
        self.last(response)
        yield self.page(2, self.last)

    def child(self, response):
        self.is_child_done.set()

class Unfiltered(Pages):
    name = "unfiltered"

    def parse(self, response):
        for number in (0, 1, 1):
            yield self.page(number, self.last, meta=response.meta, dont_filter=True)

class Items(Pages):
    name = "items"

    def parse(self, response):
        item = {"page": 0}
        yield item
        yield item
        yield {}

class Last:
    def process_item(self, item):
        if not item:
            if mode == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise DropItem()
        print(item["page"], flush=True)
        return dict(item)

class Redirected(Pages):
    name = "redirected"

    def parse(self, response):
        if mode == "kill":
            killed = lambda **_: os.kill(os.getpid(), signal.SIGKILL)
            self.crawler.signals.connect(killed, scrapy.signals.request_dropped, weak=False)
        yield self.page("to0", self.last)

class New(Pages):
    name = "new"

    def parse(self, response):
        yield self.page("to1", self.last)

class Crawls(Pages):
    name = "crawls"

    def parse(self, response):
        yield self.page(1, self.child)

    def child(self, response):
        # Dropped, as it is known.
        self.crawler.engine.crawl(self.page(0, None, meta=response.meta))
        self.last(response)

class Twice(Pages):
    name = "twice"

    async def start(self):
        page = self.page(0, self.late)
        yield page
        yield page.replace(url=f"{site}/1", callback=self.early)

    def early(self, response):
        pass

    async def late(self, response):
        await asyncio.sleep(1)
        self.last(response)

class Odd:
    def __reduce__(self):
        raise RuntimeError("odd")

class Unkept(Pages):
    name = "unkept"

    def parse(self, response):
        for _ in range(3):
            yield self.page(1, self.last, meta={"odd": Odd()})

process = CrawlerProcess({
    "ADDONS": {"springflash.scrapy.Addon": 500}, "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False,
    "SPRINGFLASH_SEEN": folder, "SPRINGFLASH_COMMIT_PAGES": 1, "ITEM_PIPELINES": {Last: 1},
})
process.crawl({spider.name: spider for spider in Pages.__subclasses__()}[name])
process.start()
"""


@pytest.fixture
def pages(tmp_path, child, site):
    """Runs a spider of `KILLED`. The pages whose callbacks have ended, and what it logged."""

    def run(name, mode):
        process = child(KILLED, site, tmp_path / "seen", name, mode)
        told, errors = process.communicate(timeout=60)
        assert process.returncode == (-signal.SIGKILL if mode == "kill" else 0), errors
        return sorted(map(int, told.split())), errors

    return run


def test_a_request_that_cannot_be_loaded_costs_no_other_one_and_waits_until_it_can(pages):
    assert pages("renamed", "kill")[0] == []
    done, errors = pages("renamed", "renamed")
    assert done == [1, 3, 5, 7, 9] and errors.count("cannot be loaded, and is kept for the next start: key ") == 4
    assert pages("renamed", "whole")[0] == [2, 4, 6, 8]
    assert pages("renamed", "whole") == ([], "")


def test_a_page_is_not_done_because_one_that_has_its_meta_is(pages):
    assert pages("inherited", "kill")[0] == []
    assert pages("inherited", "whole")[0] == [0, 2]


def test_a_page_is_not_done_before_the_pipelines_have_its_items(pages):
    assert pages("items", "kill")[0] == [0, 0]
    assert pages("items", "whole")[0] == [0, 0]
    # Also if a pipeline replaces or drops them, or they are one object.
    assert pages("items", "whole")[0] == []


def test_requests_that_are_not_filtered_outlive_a_kill(pages, tmp_path):
    assert pages("unfiltered", "kill")[0] == []
    assert pages("unfiltered", "whole")[0] == [0, 1, 1]
    with FlashIndex(tmp_path / "seen", "r") as index:
        assert sorted(index.values()) == [b"", b"stopped"]


def test_a_request_that_cannot_be_kept_is_fetched_and_named(pages):
    done, errors = pages("unkept", "whole")
    # Once: those that were seen are not kept.
    assert done == [1] and errors.count("/1> is lost if Scrapy is killed before it is fetched: odd") == 1


def test_a_request_that_was_redirected_to_a_known_page_is_made_once(pages, site):
    assert pages("redirected", "kill")[0] == []
    assert pages("redirected", "whole") == ([], "") and counts(site) == {"/0": 1, "/to0": 1}


def test_a_redirected_page_whose_callback_has_not_ended_is_fetched_again(pages):
    assert pages("new", "kill")[0] == []
    assert pages("new", "whole")[0] == [1]


def test_a_page_is_not_done_because_a_request_with_its_meta_is_dropped(pages):
    assert pages("crawls", "kill")[0] == []
    assert pages("crawls", "whole")[0] == [1]


def test_a_start_request_is_not_done_because_one_that_was_made_of_it_is(pages):
    assert pages("twice", "kill")[0] == []
    assert pages("twice", "whole")[0] == [0]


def test_only_a_redirect_ends_the_page_whose_meta_a_request_has(tmp_path):
    crawler = get_crawler(type("Named", (Spider,), {"name": "named"}), {"SPRINGFLASH_SEEN": str(tmp_path / "seen")})
    seen = DupeFilter(crawler)

    def pending():
        return sum(value not in (b"", b"runs") for value in seen._index.values())

    known, page = Request("http://a/known"), Request("http://a/page")
    assert not seen.request_seen(known) and not seen.request_seen(page) and pending() == 2
    assert seen.request_seen(page.replace(url=known.url)) and pending() == 2
    assert not seen.request_seen(page.replace(url="http://a/new")) and pending() == 3
    redirected = page.replace(url=known.url, meta={**page.meta, "redirect_urls": [page.url]})
    assert seen.request_seen(redirected) and pending() == 2
    seen.close("finished")
