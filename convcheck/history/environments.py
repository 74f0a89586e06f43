"""The releases of a package on an index, and an environment for each."""

import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag, sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from convcheck.backends.native import cache_folder
from convcheck.backends.process import headers
from convcheck.backends.process.backend import RUNTIMES
from convcheck.backends.process.environment import PACKAGES, SERVER
from convcheck.errors import UnavailableError, UsageError
from convcheck.files import read_within, write_whole
from convcheck.streams import meant, plural

PYPI = "https://pypi.org/simple"
JSON = "application/vnd.pypi.simple.v1+json"
ACCEPT = f"{JSON}, text/html;q=0.1"
PATIENCE = 60.0  # seconds
MOST = 1 << 27  # bytes of an index page
EXAMPLE = "onnxruntime==1.15.1..1.31.1"
_WANTED = re.compile(
    r"(?P<package>[A-Za-z0-9][\w.-]*?)==(?P<first>[^.=]\S*?)(?<!\.)\.\.(?P<last>[^.]\S*)"
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Wanted:
    """A range of releases of a package, ends included."""

    package: str
    first: Version
    last: Version

    @property
    def runtime(self) -> str:
        """The runtime in the package, as in an address."""
        return _RUNTIMES[self.package]

    def __str__(self) -> str:
        return f"{self.package} {self.first} to {self.last}"


_RUNTIMES = {PACKAGES.get(name, name): name for name in RUNTIMES}


@dataclass(frozen=True)
class Release:
    """A release of a package in the index."""

    version: str  # the version in the index, such as 1.15.1
    date: str = ""  # the upload date of its first file, such as 2023-06-16; '' if unknown
    lacks: str = ""  # why it cannot be installed here, or ''

    def __str__(self) -> str:
        return f"{self.version} ({self.date})" if self.date else self.version


def parse_wanted(text: str) -> Wanted:
    """Parse a range such as onnxruntime==1.15.1..1.31.1. Raises UsageError."""
    found = _WANTED.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is not a range of releases", hint=f"such as {EXAMPLE}")
    package = re.sub(r"[-_.]+", "-", found["package"]).lower()
    if package not in _RUNTIMES:
        said = f"{package} is not the package of a known runtime"
        raise UsageError(said, hint=meant(package, _RUNTIMES))
    first, last = _version(found["first"], text), _version(found["last"], text)
    if first > last:
        hint = f"{package}=={last}..{first}"
        raise UsageError(f"{text}: the range ends before it begins", hint=hint)
    return Wanted(package, first, last)


def _version(word: str, text: str) -> Version:
    try:
        return Version(word)
    except InvalidVersion:
        raise UsageError(f"{text}: {word!r} is not a version", hint=f"such as {EXAMPLE}") from None


def find_releases(wanted: Wanted) -> list[Release]:
    """Return the releases of a range in the package index, oldest first.

    Pre-releases are left out, unless an end is one. Raises UnavailableError for an unreadable
    index, UsageError for an empty range.
    """
    url = f"{index_url()}/{wanted.package}/"
    files = _files(*_fetched(url), url)
    found = sorted({version for version, _, _ in files})
    ends = (wanted.first, wanted.last)
    final = [version for version in found if not version.is_prerelease or version in ends]
    inside = [version for version in final if wanted.first <= version <= wanted.last]
    if not inside:
        has = f"{found[0]} to {found[-1]}" if found else "no release"
        raise UsageError(f"{url} has no release of {wanted}", hint=f"it has {has}")
    tags = frozenset(sys_tags())
    return [_release(version, [f for f in files if f[0] == version], tags) for version in inside]


def index_url() -> str:
    """Return the package index that pip or uv is configured to use, by default PyPI."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if os.environ.get(name):
            return os.environ[name].rstrip("/")
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return (asked.stdout.strip() if not asked.returncode else "").rstrip("/") or PYPI


def _fetched(url: str) -> tuple[str, bytes]:
    if urlsplit(url).scheme not in ("http", "https"):
        raise UnavailableError(f"{url} is not the address of a package index", hint="https://…")
    request = urllib.request.Request(url, headers={"Accept": ACCEPT})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
            return str(answer.headers.get_content_type()), read_within(answer, MOST)
    except (OSError, ValueError, urllib.error.URLError) as error:
        hint = "PIP_INDEX_URL names another package index"
        raise UnavailableError(
            f"cannot read the package index: {url}: {error}", hint=hint
        ) from None


File = tuple[Version, str, str]  # (version, file name, upload date)


def _files(kind: str, page: bytes, url: str) -> list[File]:
    read: Mapping[str, Callable[[bytes], Iterable[tuple[str, str]]]]
    read = {JSON: _of_json, "text/html": _of_html}
    try:
        named = list(read[kind](page))
    except (KeyError, ValueError, TypeError, AttributeError):
        said = f"{url} is not a page of a package index ({kind}, {plural(len(page), 'byte')})"
        raise UnavailableError(said, hint="an index has JSON (PEP 691) or HTML (PEP 503)") from None
    found = []
    for name, day in named:
        try:
            found.append((parse_wheel_filename(name)[1], name, day))
        except InvalidWheelFilename:  # such as a source archive
            continue
    return found


def _of_json(page: bytes) -> Iterable[tuple[str, str]]:
    """Yield the name and date of each file; '' without a date (PEP 691, PEP 700)."""
    for file in json.loads(page)["files"]:
        found = _DAY.match(str(file.get("upload-time", "")))
        yield str(file["filename"]), found[0] if found else ""


def _of_html(page: bytes) -> Iterable[tuple[str, str]]:
    """Return the name of each file. HTML pages have no dates (PEP 503)."""
    links: list[str] = []

    class Links(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            links.extend(str(value) for key, value in attrs if (tag, key) == ("a", "href"))

    Links().feed(page.decode())
    return [(unquote(urlsplit(link).path.rpartition("/")[2]), "") for link in links]


def _release(version: Version, files: list[File], tags: frozenset[Tag]) -> Release:
    fits = any(tags & parse_wheel_filename(name)[3] for _, name, _ in files)
    here = f"Python {sys.version_info.major}.{sys.version_info.minor} on this system"
    days = sorted(filter(None, (day for *_, day in files)))
    return Release(str(version), days[0] if days else "", "" if fits else f"no wheel for {here}")


NUMPY_2 = "2024-06-16"  # release date of numpy 2.0.0
INSTALLING = 1800.0  # seconds
STARTING = 120.0  # seconds
MARK = "convcheck-made"
LAST = 300  # characters of an installer's or Python's output


class NotInstalledError(Exception):
    """A release cannot be installed, or its runtime does not start."""


def environments_folder(given: str | None) -> Path:
    """Return the folder of environments, after creating it: `given`, or one in the user's cache.

    Raises UsageError.
    """
    folder = Path(given) if given else cache_folder("history")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "it is a file" if folder.is_file() else error.strerror or str(error)
        hint = "--env-dir names a folder for environments; it is created if missing"
        raise UsageError(f"cannot create the folder {folder}: {why}", hint=hint) from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write to the folder {folder}", hint="name another with --env-dir")
    return folder.absolute()


def made_environment(wanted: Wanted, release: Release, folder: Path) -> Path:
    """Return the Python of a release's environment, after creating it if needed.

    Raises NotInstalledError, or UnavailableError without an installer.
    """
    home = folder / f"{wanted.package}-{release.version}"
    python = home / "bin" / "python"
    if not ((home / MARK).is_file() and python.exists()):
        if release.lacks:
            raise NotInstalledError(release.lacks)
        _make(home, python, wanted, release)
        write_whole(home / MARK, f"{wanted.package}=={release.version}\n".encode())
    return python


def _make(home: Path, python: Path, wanted: Wanted, release: Release) -> None:
    why = ""
    for requirements, alone in _ways(wanted, release):
        if home.exists():
            shutil.rmtree(home)
        made = _installed(home, python, requirements, alone)
        if made and not why:
            why = made
        if not made:
            unable = _unable(python, wanted.runtime)
            if not unable:
                return
            why = unable
    shutil.rmtree(home, ignore_errors=True)
    raise NotInstalledError(why)


def _ways(wanted: Wanted, release: Release) -> Iterator[tuple[list[str], bool]]:
    of_then = ["numpy<2", "numpy"] if release.date and release.date < NUMPY_2 else ["numpy"]
    if not release.date:
        of_then.append("numpy<2")
    for alone in (True, False):
        for numpy in of_then:
            yield [f"{wanted.package}=={release.version}", numpy], alone


def _installed(home: Path, python: Path, requirements: list[str], alone: bool) -> str:
    for command in _commands(home, python, requirements, alone):
        done = _run(command, INSTALLING)
        if done.returncode:
            return _last_words(done.stderr or done.stdout)
    return ""


def _commands(
    home: Path, python: Path, requirements: list[str], alone: bool
) -> Iterator[list[str]]:
    """Yield the commands of uv, or else pip. Raises UnavailableError without either."""
    without = ["--no-deps"] if alone else []
    if uv := shutil.which("uv"):
        yield [uv, "venv", "--quiet", "--python", sys.executable, str(home)]
        yield [uv, "pip", "install", "--quiet", "--only-binary", ":all:", "--python", str(python),
               *without, *requirements]  # fmt: skip
        return
    if _run([sys.executable, "-m", "pip", "--version"], STARTING).returncode:
        said = "no installer for releases"
        raise UnavailableError(said, hint="install uv or pip")
    yield [sys.executable, "-m", "venv", "--without-pip", str(home)]
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    yield [*pip, "install", "--quiet", "--no-compile", "--only-binary", ":all:", *without,
           *requirements]  # fmt: skip


def _run(command: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        return subprocess.run(  # noqa: S603
            command, input=headers.HELLO.decode(), capture_output=True, text=True, check=False,
            timeout=seconds, env=own, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        said = f"{Path(command[0]).name}: not finished within {seconds:g} s"
        return subprocess.CompletedProcess(command, 1, "", said)


def _unable(python: Path, runtime: str) -> str:
    done = _run([str(python), "-I", str(SERVER), runtime], STARTING)
    try:
        hello = json.loads(done.stdout)
        return str(hello.get("unavailable", ""))
    except (ValueError, AttributeError):
        return f"its server exits with status {done.returncode}: {_last_words(done.stderr)}"


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["no error message"])[-1][:LAST]
