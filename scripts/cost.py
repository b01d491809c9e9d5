"""Makes the tables of docs/cost.md anew (``make cost``); with ``--check``, only says whether they are current."""

from __future__ import annotations

import argparse
import sys

from scripts.costing.document import DOCUMENT, render


def stale() -> bool:
    """Tell whether the document differs from what the code, counted now, costs."""
    text = DOCUMENT.read_text()
    return render(text) != text


def main() -> int:
    """Write the document, or check it. Return the exit code 1 when a check found it stale."""
    parser = argparse.ArgumentParser(description="what a million writes and reads cost")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if docs/cost.md is not current")
    if parser.parse_args().check:
        if stale():
            print("docs/cost.md is not what the code costs now: make cost")
            return 1
        return 0
    DOCUMENT.write_text(render(DOCUMENT.read_text()))
    print(f"wrote {DOCUMENT.relative_to(DOCUMENT.parents[1])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
