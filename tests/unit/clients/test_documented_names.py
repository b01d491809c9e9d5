"""The names that the documents give to stores: a name that two lines make is one that no later line may use."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from memolith.clients.cli.store_argument import StoreCommand
from tests.unit.clients.test_address import commands

ROOT = Path(__file__).parents[3]
CLI = ROOT / "functions/memolith/clients/cli"
PACKAGE = "memolith.clients.cli"
PAGES = ("README.md", "docs/laptop.md", "docs/cli.md")
"""What one reads one after the other, on one machine."""

AWS = re.compile("function|DynamoDB|Secrets Manager")

MADE = re.compile(r'stores create "([^"]+)"|stores\.create\(name="([^"]+)"|memolith import .*--name "([^"]+)"')


SERVICES = {
    "CDK": {"run_cdk"},
    "CloudFormation": {"cloudformation"},
    "DynamoDB": {"dynamodb", "homes", "index_status", "make_audit", "make_proofs", "tables"},
    "KMS": {"KmsSealing"},
    "Lambda|function": {"functions", "invoke", "fail_over", "is_held", "peers"},
    "Route 53": {"route53"},
    "S3": {"s3", "scan_requests", "Rebuild", "RegionBackfill", "make_audit", "make_proofs"},
    "SQS": {"dead_letters", "queue"},
    "Secrets Manager": {"signing_secrets"},
}
"""What asks a service, by the name that it has in the code of the command line."""


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


def rows_of_what_commands_use() -> list[list[str]]:
    page = (ROOT / "docs/cli.md").read_text()
    table = page.partition("| command | what it uses |")[2].partition("\n\n")[0]
    return [line.split("|")[1:3] for line in table.splitlines()[2:]]


def deployment_commands() -> list[str]:
    return sorted(path.stem for path in CLI.glob("*.py") if " = find_target(" in path.read_text())


def test_the_table_of_what_commands_use_names_every_one_that_goes_to_a_deployment_without_the_api() -> None:
    rows = rows_of_what_commands_use()
    ours = {word for cells in rows if AWS.search(cells[1]) for word in re.findall(r"`([a-z]+)[ `]", cells[0])}
    found = set(deployment_commands())
    assert len(found) >= 7 and found <= ours


def test_the_table_of_what_commands_use_names_each_service_that_a_command_asks() -> None:
    """A role that is made from it lacked what `regions remove`, `index rescan` and `homes list` need.

    Of a cell the first part is about every command, and a later one about those that it names.
    """
    missing = []
    for module in deployment_commands():
        cells = [cells[1] for cells in rows_of_what_commands_use() if re.search(rf"`{module}[ `]", cells[0])]
        for command, function in commands_of(module):
            parts = [
                part for cell in cells for n, part in enumerate(cell.split(";")) if not n or f"`{command}`" in part
            ]
            names = names_reached(module, function)
            asked = [service for service, does in SERVICES.items() if does & names]
            missing += [(module, command, one) for one in asked if not re.search(one, "".join(parts))]
    assert not missing, missing


def test_the_page_names_the_commands_that_take_no_default_store() -> None:
    [said] = re.findall(r"((?:`[a-z ]+`,?\s(?:and\s)?)+)takes? no default", (ROOT / "docs/cli.md").read_text())
    named = {word.removeprefix("memolith ") for word in re.findall(r"`(.+?)`", said)}
    others = {words.split()[0] for words, one in commands() if isinstance(one, StoreCommand) and not one.takes_default}
    assert len(others) >= 2
    assert named == others | {"lint", "scan", "context"}, "the three take a folder, or a session, too"


def commands_of(module: str) -> Iterator[tuple[str, str]]:
    """Each command's name, and its function's."""
    for name, function in functions_of(module).items():
        for decorator in map(ast.unparse, function.decorator_list):
            if decorator.startswith("app.command("):
                named = re.search(r"'(.+)'", decorator)
                yield named.group(1) if named else name.rstrip("_").replace("_", "-"), name


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse((CLI / f"{module}.py").read_text())


@cache
def functions_of(module: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree_of(module).body if isinstance(node, ast.FunctionDef)}


@cache
def imports_of(module: str) -> dict[str, str]:
    """Each name that comes from the command line's own modules, with its module."""
    imported: dict[str, str] = {}
    for node in tree_of(module).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            source = str(node.module).removeprefix(PACKAGE).lstrip(".")
            imported |= {one.name: source or one.name for one in node.names}
    return imported


def names_reached(module: str, function: str) -> set[str]:
    """Every name in a function, and in the functions of the command line that it names."""
    reached, left, names = set(), [(module, function)], set[str]()
    while left:
        module, function = left.pop()
        if (module, function) in reached or function not in functions_of(module):
            continue
        reached.add((module, function))
        for node in ast.walk(functions_of(module)[function]):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
                if isinstance(node.value, ast.Name) and node.value.id in imports_of(module):
                    left.append((imports_of(module)[node.value.id], node.attr))
            elif isinstance(node, ast.Name):
                names.add(node.id)
                left.append((imports_of(module).get(node.id, module), node.id))
    return names
