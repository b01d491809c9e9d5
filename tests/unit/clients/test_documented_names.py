"""The names that the documents give to stores: a name that two lines make is one that no later line may use."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", "docs/laptop.md", "docs/cli.md")
"""What one reads one after the other, on one machine."""

AWS = re.compile("function|DynamoDB|Secrets Manager")

MADE = re.compile(r'stores create "([^"]+)"|stores\.create\(name="([^"]+)"|memolith import .*--name "([^"]+)"')


def test_every_store_that_the_documents_make_has_a_name_of_its_own() -> None:
    text = "\n".join((ROOT / page).read_text() for page in PAGES)
    made = Counter(next(filter(None, found.groups())) for found in MADE.finditer(text))
    assert len(made) >= 5
    assert not [name for name, times in made.items() if times > 1]


def test_a_name_that_a_page_uses_was_made_on_it_or_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    for page in PAGES:
        text = (ROOT / page).read_text()
        made = {name for found in MADE.finditer(readme + text) for name in found.groups() if name}
        used = {
            name
            for block in re.findall(r"```console\n(.*?)```", text, re.S)
            for name in re.findall(r'"(\w+ notes)"', block)
        }
        assert used <= made, page


def test_no_export_of_a_page_writes_over_another_one_which_is_refused() -> None:
    text = (ROOT / "docs/cli.md").read_text()
    targets = Counter(re.findall(r"^memolith export \$store (\S+\.tar\.gz)", text, re.M))
    assert len(targets) >= 2
    assert set(targets.values()) == {1}


def test_the_table_of_what_commands_use_names_every_one_that_goes_to_a_deployment_without_the_api() -> None:
    page = (ROOT / "docs/cli.md").read_text()
    rows = [
        line.split("|")[1:3] for line in page.partition("| command | what it uses |")[2].splitlines() if "|" in line
    ]
    ours = {word for cells in rows if AWS.search(cells[1]) for word in re.findall(r"`([a-z]+)[ `]", cells[0])}
    folder = ROOT / "functions/memolith/clients/cli"
    found = {path.stem for path in folder.glob("*.py") if " = find_target(" in path.read_text()}
    assert len(found) >= 7 and found <= ours
