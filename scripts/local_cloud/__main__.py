"""``python -m scripts.local_cloud``: what ``memolith dev`` runs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the commands; where their packages are not installed, say what installs them."""
    try:
        from scripts.local_cloud.commands import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("memolith", "scripts"):
            raise
        helping = "--help" in sys.argv
        if helping:
            words = " ".join(["memolith dev", *(word for word in sys.argv[1:] if not word.startswith("-"))])
            print(f"Usage: {words} [OPTIONS]\n")
        print(
            f"memolith dev runs with the development packages of the checkout, and {error.name} is not installed: "
            "run `make setup` there.",
            file=sys.stdout if helping else sys.stderr,
        )
        sys.exit(0 if helping else 2)
    app(prog_name="memolith dev")


if __name__ == "__main__":
    main()
