"""Makes the tables of docs/cost.md and docs/scale.md anew (``make cost``); ``--check`` only says if they are so."""

from __future__ import annotations

import argparse
import sys

from scripts.costing import scale
from scripts.costing.document import DOCUMENT, render


def stale() -> bool:
    """Tell whether docs/cost.md differs from what the code, counted now, costs."""
    text = DOCUMENT.read_text()
    return render(text) != text


def stale_scale() -> bool:
    """Tell whether docs/scale.md differs from what counted calls come to with many memories."""
    text = scale.DOCUMENT.read_text()
    return render(text, scale.TABLES) != text


def main() -> int:
    """Write the document, or check it. Return the exit code 1 when a check found it stale."""
    parser = argparse.ArgumentParser(description="what a million writes and reads cost")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if docs/cost.md is not current")
    if parser.parse_args().check:
        if stale() or stale_scale():
            print("docs/cost.md or docs/scale.md is not what the code costs now: make cost")
            return 1
        return 0
    for document, tables in ((DOCUMENT, None), (scale.DOCUMENT, scale.TABLES)):
        document.write_text(render(document.read_text(), tables))
        print(f"wrote {document.relative_to(document.parents[1])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
