"""The site: a page for each public name, links that lead somewhere, and pages that a browser shows.

The pages are written here; MkDocs and a browser are used where they are installed.
"""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.site import check, pages, reference

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "docs"
    assert pages.write(folder) > 3000
    return folder


def test_every_public_name_that_is_here_has_a_page(written):
    without = [
        entry.full
        for entry in reference.entries()
        if entry.page is not None and not (written / "reference" / reference.path(entry.page)).exists()
    ]
    assert not without


def test_pages_of_names_differ_only_in_more_than_case(written):
    """For systems whose file names know no case."""
    names = [str(path).lower() for path in written.rglob("*.md")]
    assert len(set(names)) == len(names)


def test_a_page_says_what_help_says(written):
    text = (written / "reference" / "torch" / "add.md").read_text("utf-8")
    for line in (
        "# torch.add",
        "torch.add(input, other, *, alpha=1, out=None)",
        ">>> torch.add(",
        "| `add.Tensor` | native |",
    ):
        assert line in text
    assert "| `relu` |" in (written / "support.md").read_text("utf-8")
    assert "[`torch.linalg`](reference/torch.linalg/index.md)" in (written / "compatibility.md").read_text("utf-8")


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there">b</a> <a href="#here">a</a>')
    (tmp_path / "b.html").write_text(
        '<a href="a.html#nowhere">a</a> <img src="gone.png"> <a href="https://example.org">x</a>'
    )
    assert list(check.broken_links(tmp_path)) == [
        "a.html: b.html#there leads to no place in b.html",
        "b.html: a.html#nowhere leads to no place in a.html",
        "b.html: gone.png leads to no file",
    ]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "tools.site", "--pages", folder / "pages", "--out", folder / "site"]
    command += ["--modules", "torch.linalg", "torch.fft"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_site_has_no_broken_link(built):
    assert (built / "reference" / "torch.linalg" / "inv.html").exists()
    assert not list(check.broken_links(built))


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_browser_shows_a_page(built, tmp_path):
    page = built / "reference" / "torch.linalg" / "inv.html"
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    dumped = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "Inverse of square matrices." in dumped.stdout
    assert "md-content" in dumped.stdout
