"""What Claude Code, Codex and Basic Memory remember goes into a store and back, by the program's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memolith.clients.cli.failures import Exit
from tests.unit.clients.desk import Desk
from tests.unit.clients.transfers.reports import MEMORY_MD, NOTE, TOPIC, fill, moved, on_both, reasons, texts


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with nothing of another one's settings."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "BASIC_MEMORY_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def claude_folder(home: Path, project: Path) -> Path:
    """As Claude Code names it: its path with dashes."""
    name = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(project))
    return home / ".claude" / "projects" / name / "memory"


def worktree(repository: Path, at: Path) -> Path:
    """What ``git worktree add`` leaves, as far as it says which repository it belongs to."""
    own = repository / ".git" / "worktrees" / at.name
    fill(own, {"commondir": "../..\n", "gitdir": f"{at}/.git\n", "HEAD": "ref: refs/heads/x\n"})
    return fill(at, {".git": f"gitdir: {own}\n", "src/main.py": ""})


def test_claude_codes_memory_is_found_from_any_folder_of_any_worktree(desk: Desk, home: Path, tmp_path: Path) -> None:
    app = fill(tmp_path / "my_app.2", {".git/HEAD": "", "src/x.py": ""})
    tree = worktree(app, tmp_path / "fix-1")
    fill(claude_folder(home, app), {"MEMORY.md": MEMORY_MD, "builds.md": TOPIC})
    for start in (app, app / "src", tree, tree / "src", claude_folder(home, app), claude_folder(home, app).parent):
        report = moved(desk, "import", "--from", "claude-code", str(start), "--new")
        assert report["source"] == str(claude_folder(home, app))
        assert report["results"] == {"created": 2}
    names = {row["name"] for row in desk.json("stores", "list")}
    assert "my_app.2" in names and "fix-1" not in names
    assert desk.ok("cat", report["store"], "/builds.md") == TOPIC


def test_a_memory_that_an_earlier_release_left_beside_is_named(desk: Desk, home: Path, tmp_path: Path) -> None:
    app = fill(tmp_path / "my_app", {".git/HEAD": ""})
    tree = worktree(app, tmp_path / "fix")
    fill(claude_folder(home, app), {"MEMORY.md": MEMORY_MD})
    beside = fill(claude_folder(home, tree), {"MEMORY.md": "- other\n"})
    code, _, err = desk.run("import", "--from", "claude-code", str(tree))
    assert code == 0
    assert str(beside) in err


def test_a_worktree_that_its_repository_does_not_name_is_a_project_of_its_own(
    desk: Desk, home: Path, tmp_path: Path
) -> None:
    app = fill(tmp_path / "app", {".git/HEAD": ""})
    worktree(app, tmp_path / "fix")
    thief = fill(tmp_path / "thief", {".git": f"gitdir: {app}/.git/worktrees/fix\n"})
    fill(claude_folder(home, app), {"MEMORY.md": MEMORY_MD})
    told = desk.fails(Exit.USAGE, "import", "--from", "claude-code", str(thief))
    assert str(claude_folder(home, thief)) in told


def test_a_store_becomes_a_projects_memory(desk: Desk, home: Path, tmp_path: Path) -> None:
    app = fill(tmp_path / "app", {".git/HEAD": ""})
    desk.put("/MEMORY.md", MEMORY_MD)
    desk.put("/builds.md", TOPIC)
    desk.ok("export", desk.store, "--to", "claude-code", str(worktree(app, tmp_path / "fix")))
    assert texts(claude_folder(home, app)) == {"MEMORY.md": MEMORY_MD.encode(), "builds.md": TOPIC.encode()}


def test_the_folder_that_claude_codes_settings_name_is_the_one(desk: Desk, home: Path, tmp_path: Path) -> None:
    fill(home, {".claude/settings.json": '{"autoMemoryDirectory": "~/mine"}', "mine/MEMORY.md": MEMORY_MD})
    report = moved(desk, "import", "--from", "claude-code", str(tmp_path))
    assert report["source"] == str(home / "mine")


def test_what_claude_code_keeps_for_itself_beside_a_memory_stays_there_and_is_named(
    desk: Desk, home: Path, tmp_path: Path
) -> None:
    app = fill(tmp_path / "app", {".git/HEAD": ""})
    files = {
        "MEMORY.md": MEMORY_MD,
        "builds.md": TOPIC,
        "team/MEMORY.md": MEMORY_MD,
        "logs/2026/11/2026-11-01.md": "-\n",
    }
    own = {".consolidate-lock": "4711\n1795336622665", "team/.consolidate-lock.md": "a note of that name\n"}
    fill(claude_folder(home, app), {**files, **own})
    report = moved(desk, "import", "--from", "claude-code", str(app))
    assert list(reasons(report)) == ["/.consolidate-lock"]
    desk.ok("export", report["store"], str(tmp_path / "back"))
    del own[".consolidate-lock"]
    assert texts(tmp_path / "back") == {name: text.encode() for name, text in {**files, **own}.items()}


@on_both
def test_codexs_memories_go_in_and_come_back(desk: Desk, home: Path, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "memory_summary.md": "v1\n\nThe user prefers short answers.\n",
        "MEMORY.md": "# Task Group: builds\nscope: app\n\n## Task 1\n### keywords\nmake\n",
        "rollout_summaries/2026-11-01-a.md": "thread_id: 1\n",
        "raw_memories.md": "# Raw Memories\n" + "x" * 119_985,
        "extensions/ad_hoc/instructions.md": "# Ad-hoc notes\n",
        "extensions/ad_hoc/notes/2026-11-01T09-00-00-use-make.md": "Use make.\n",
        "skills/release/SKILL.md": "---\nname: release\n---\n",
        "skills/release/scripts/tag.sh": "#!/bin/sh\ngit tag\n",
        "phase2_workspace_diff.md": b"+" * 200_000,
        ".git/HEAD": "ref: refs/heads/main\n",
    }
    folder = fill(home / ".codex" / "memories", files)
    (folder / "skills/release/scripts/tag.sh").chmod(0o755)
    report = moved(desk, "import", "--from", "codex", code=Exit.IN_PART)
    assert reasons(report) == {
        "/.git/": "a folder of version control",
        "/phase2_workspace_diff.md": "Codex writes it anew whenever it consolidates",
        "/raw_memories.md": "larger than 102,400 bytes (120,000)",
        "/skills/release/scripts/tag.sh": "its mode: memories are not executable",
    }
    desk.ok("export", report["store"], "--to", "codex", str(tmp_path / "other"))
    left = ("phase2_workspace_diff.md", ".git/HEAD", "raw_memories.md")
    kept = {name: text for name, text in texts(folder).items() if name not in left}
    assert texts(tmp_path / "other") == kept


def test_a_program_that_has_remembered_nothing_is_told_by_its_name(desk: Desk, home: Path, tmp_path: Path) -> None:
    named = (("claude-code", str(tmp_path)), "SOURCE: Claude Code"), (("codex",), "--from: Codex")
    for words, program in named:
        told = desk.fails(Exit.USAGE, "import", "--from", *words)
        assert f"{program} has remembered nothing here yet" in told


@pytest.mark.parametrize("shape", ["path alone", "record"])
def test_a_project_of_basic_memory_goes_in_by_its_name_and_comes_back(
    desk: Desk, home: Path, tmp_path: Path, shape: str
) -> None:
    notes = fill(
        tmp_path / "notes", {"people/Café.md": NOTE, "Coffee.md": "- [taste] bitter\n", "a.png": b"\x89PNG\x00"}
    )
    project: object = str(notes) if shape == "path alone" else {"path": str(notes), "mode": "local"}
    config = {"projects": {"main": project}, "default_project": "main"}
    fill(home, {".basic-memory/config.json": json.dumps(config)})
    report = moved(desk, "import", "--from", "basic-memory", code=Exit.IN_PART)
    assert report["results"] == {"created": 2, "left out": 1}
    assert reasons(report) == {"/a.png": "not UTF-8 text (byte 0)"}
    desk.ok("export", report["store"], "--to", "basic-memory", str(tmp_path / "back"))
    assert texts(tmp_path / "back") == {name: text for name, text in texts(notes).items() if name != "a.png"}
    told = desk.fails(Exit.USAGE, "import", "--from", "basic-memory", "work")
    assert "SOURCE: Basic Memory has no project work (it has: main)" in told
    fill(home, {".basic-memory/config.json": "{}"})
    told = desk.fails(Exit.USAGE, "import", "--from", "basic-memory")
    assert "--from: Basic Memory has no project main (it has: none)" in told
