"""The examples of the documents run, each in a folder of its own, and everything public says what it is."""

import importlib.metadata
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import springflash

PYTHON = Path(__file__).resolve().parents[1]
EXAMPLES = [
    pytest.param(code, id=f"{file.name}-{n}")
    for file in (PYTHON / "README.md", PYTHON.parent / "docs" / "python.md", PYTHON.parents[1] / "README.md")
    for n, code in enumerate(re.findall(r"^```python\n(.*?)^```", file.read_text(), re.DOTALL | re.MULTILINE))
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {"__name__": "example"})


def test_the_version_is_that_of_the_package():
    assert springflash.__version__ == importlib.metadata.version("springflash")


def test_everything_public_has_a_docstring_and_a_type():
    for name in set(springflash.__all__) - {"__version__"}:
        kind = getattr(springflash, name)
        assert inspect.getdoc(kind), name
        for member, value in vars(kind).items():
            if inspect.isfunction(value) and not member.startswith("_"):
                assert inspect.getdoc(value), f"{name}.{member}"
                assert "return" in value.__annotations__, f"{name}.{member}"
    for name in ("add", "add_new", "commit", "merge", "verify", "close"):
        assert inspect.getdoc(getattr(springflash.FlashFilter, name)), name
    for name in ("commit", "compact", "verify", "close"):
        assert inspect.getdoc(getattr(springflash.FlashIndex, name)), name
    assert Path(inspect.getfile(springflash)).with_name("py.typed").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        # Arrow has no types.
        ["mypy", "--strict", "--disable-error-code=import-untyped", "-p", "springflash"],
        ["mypy.stubtest", "--ignore-missing-stub", "--ignore-disjoint-bases", "springflash._springflash"],
    ],
    ids=["types", "stubs"],
)
def test_types_and_stubs_are_those_of_the_installed_package(tmp_path, arguments):
    told = subprocess.run([sys.executable, "-m", *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
