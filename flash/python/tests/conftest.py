import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Disks of machines that test are slow now and then.
settings.register_profile("springflash", max_examples=30, database=None, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("springflash")

sys.path.insert(0, str(Path(__file__).parents[1]))
import benchmark  # noqa: E402


@pytest.fixture
def record(request):
    """Prints the figures of a test, and appends them to the file of SPRINGFLASH_RECORD, if that is set."""
    start = benchmark.started()

    def write(name, seed, **figures):
        print(name, "seed", seed, figures)
        file = os.environ.get("SPRINGFLASH_RECORD")
        if file:
            settings = {key: value for key, value in os.environ.items() if key.startswith(("SPRINGFLASH_PAGES", "SPRINGBLOOM_"))}
            command = ["flash/python/test", "-k", request.node.name]
            benchmark.write_record(Path(file), name, seed, start, command=command, settings=settings, figures=figures)

    return write


@pytest.fixture
def child():
    """Starts Python with a program and arguments. Its end of the pipe is unbuffered."""
    running = []

    def start(program, *arguments):
        command = [sys.executable, "-u", "-c", program, *map(str, arguments)]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 48 MiB. Needs root."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = os.geteuid() == 0 and not subprocess.call(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", folder])
    if not mounted:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.check_call(["umount", "-l", folder])


class Clock:
    """The clock of the machine, which may be wrong, and what its kernel counts while it runs."""

    seconds = 1.7e9
    wrong = 0.0
    started = 1.7e9
    run = 1

    def off(self, seconds):
        """The machine is off for a while."""
        self.seconds += seconds
        self.started, self.run = self.seconds, self.run + 1


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("time.time", lambda: clock.seconds + clock.wrong)
    monkeypatch.setattr("springflash._ages.clock_gettime", lambda _: clock.seconds - clock.started)
    monkeypatch.setattr("springflash._ages._run_of_machine", lambda: str(clock.run))
    return clock
