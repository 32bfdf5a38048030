"""Make the site: `python -m tools.site [--pages-only] [--out build/site]`.

Writes the pages, as Markdown, below `build/site-pages`, and with MkDocs the site below `build/site`; then checks its links.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from . import check, pages

_ROOT = Path(__file__).parents[2]


def main() -> int:
    """Write the pages, build, check; 1 if a link is broken."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("--pages", type=Path, default=_ROOT / "build" / "site-pages")
    parser.add_argument("--out", type=Path, default=_ROOT / "build" / "site")
    parser.add_argument("--pages-only", action="store_true", help="write the pages, do not build")
    parser.add_argument("--modules", nargs="*", help="of the reference, these modules only")
    chosen = parser.parse_args()
    shutil.rmtree(chosen.pages, ignore_errors=True)
    count = pages.write(chosen.pages / "docs", chosen.modules)
    print(f"{chosen.pages}: {count} pages", flush=True)
    if chosen.pages_only:
        return 0
    pages.write_configuration(chosen.pages, chosen.out.resolve())
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", str(chosen.pages / "mkdocs.yml")]
    status = subprocess.run(command, check=False).returncode
    if status:
        return status
    broken = list(check.broken_links(chosen.out))
    for line in broken:
        print(line, file=sys.stderr)
    print(f"{chosen.out}: {len(list(chosen.out.rglob('*.html')))} pages, {len(broken)} broken links")
    print(f"python -m http.server -d {chosen.out}    shows it with its search, which a browser does not run from files")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
