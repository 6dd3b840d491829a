import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, settings

# Disks of machines that test are slow now and then.
settings.register_profile("springflash", max_examples=30, database=None, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("springflash")


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
