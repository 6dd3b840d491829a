"""Real crawls of a local site, stopped and killed. SPRINGFLASH_PAGES=100000 makes it larger, with three stops and three kills."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from springflash import FlashIndex

PAGES = int(os.environ.get("SPRINGFLASH_PAGES", "300"))
STOPS = 3 if PAGES > 1000 else 1
CONCURRENT = 8

CRAWL = """
import json, os, resource, sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Pages(scrapy.Spider):
    name = "pages"

    async def start(self):
        yield scrapy.Request(sys.argv[1] + "/0")

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)

class Others(Pages):
    name = "others"

process = CrawlerProcess({
    "ADDONS": {"springflash.scrapy.Addon": 500}, "CONCURRENT_REQUESTS": 8, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False,
    **json.loads(sys.argv[2]),
})
for spider in (Pages, Others)[:int(sys.argv[3])]:
    process.crawl(spider)
process.start()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MiB")
"""


@pytest.fixture
def site(tmp_path):
    program = [sys.executable, Path(__file__).with_name("site_of_pages.py"), str(PAGES)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.kill()


def counts(site):
    with urllib.request.urlopen(site + "/counts") as answer:
        return json.load(answer)


def crawl_with_ends(child, site, settings, ends):
    """Crawls to the end, after it was ended by signals on the way."""
    for n, end in enumerate(ends):
        process = child(CRAWL, site, json.dumps(settings), 1)
        while len(counts(site)) < PAGES * (n + 1) // (len(ends) + 1):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(end)
        process.communicate(timeout=120)
    process = child(CRAWL, site, json.dumps(settings), 1)
    told, errors = process.communicate()
    assert process.returncode == 0 and "Traceback" not in errors, errors
    print(told)
    return counts(site)


def test_a_crawl_that_is_stopped_fetches_each_page_once(tmp_path, child, site):
    # The program has middlewares of its own, or none.
    settings = {"JOBDIR": str(tmp_path / "job"), "SPIDER_MIDDLEWARES": {}}
    fetched = crawl_with_ends(child, site, settings, [signal.SIGINT] * STOPS)
    assert len(fetched) == PAGES and set(fetched.values()) == {1}
    with FlashIndex(tmp_path / "job/seen", "r") as index:
        assert sum(value == b"" for value in index.values()) == PAGES


@pytest.mark.parametrize("has_job", [True, False])
def test_a_crawl_that_is_killed_loses_no_page_and_repeats_those_in_flight(tmp_path, child, site, has_job):
    folder = {"JOBDIR": str(tmp_path / "job")} if has_job else {"SPRINGFLASH_SEEN": str(tmp_path / "seen")}
    fetched = crawl_with_ends(child, site, {**folder, "SPRINGFLASH_COMMIT_PAGES": 1}, [signal.SIGKILL] * STOPS)
    again = sum(fetched.values()) - PAGES
    print(f"{again} pages of {PAGES} were fetched again after {STOPS} kills")
    assert len(fetched) == PAGES
    # Pages that were served, and whose callbacks had not ended.
    assert again <= STOPS * 2 * CONCURRENT


def test_spiders_of_one_process_share_a_folder_and_see_their_own_requests(tmp_path, child, site):
    settings = json.dumps({"SPRINGFLASH_SEEN": str(tmp_path / "seen")})
    process = child(CRAWL, site, settings, 2)
    assert "Traceback" not in process.communicate()[1]
    assert len(counts(site)) == PAGES and set(counts(site).values()) == {2}
    process = child(CRAWL, site, settings, 2)
    assert "Traceback" not in process.communicate()[1] and set(counts(site).values()) == {2}, "nothing is left to fetch"


def test_without_a_folder_it_says_what_to_set(child, site):
    assert "set JOBDIR or SPRINGFLASH_SEEN" in child(CRAWL, site, "{}", 1).communicate()[1]


KILLED = """
import asyncio, os, signal, sys
import scrapy
from scrapy.crawler import CrawlerProcess

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

class Odd:
    def __reduce__(self):
        raise RuntimeError("odd")

class Unkept(Pages):
    name = "unkept"

    def parse(self, response):
        yield self.page(1, self.last, meta={"odd": Odd()})

process = CrawlerProcess({
    "ADDONS": {"springflash.scrapy.Addon": 500}, "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False,
    "SPRINGFLASH_SEEN": folder, "SPRINGFLASH_COMMIT_PAGES": 1,
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


def test_requests_that_are_not_filtered_outlive_a_kill(pages, tmp_path):
    assert pages("unfiltered", "kill")[0] == []
    assert pages("unfiltered", "whole")[0] == [0, 1, 1]
    with FlashIndex(tmp_path / "seen", "r") as index:
        assert sorted(index.values()) == [b"", b"stopped"]


def test_a_request_that_cannot_be_kept_is_fetched_and_named(pages):
    done, errors = pages("unkept", "whole")
    assert done == [1] and "/1> is lost if Scrapy is killed before it is fetched: odd" in errors
