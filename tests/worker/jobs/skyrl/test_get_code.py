"""How the user's code gets beside the job."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from app.code.ignore import patterns as ignored
from worker.jobs.skyrl import get_code


@pytest.fixture
def repository(tmp_path: Path) -> tuple[str, str]:
    """Its address and the commit before its newest."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "config", "uploadpack.allowAnySHA1InWant", "true"], check=True)
    for content in ("one", "two"):
        (folder / "train.py").write_text(content)
        (folder / "data.ckpt").write_text(content)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", content], check=True)
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD~1"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return f"file://{folder}", commit


def test_the_named_commit_is_checked_out(repository: tuple[str, str], tmp_path: Path) -> None:
    address, commit = repository
    into = tmp_path / "job" / "code"
    assert (
        get_code.main([f"--source={address}@{commit}", f"--into={into}", "--exclude=*.ckpt"]) == 0
    )
    assert (into / "train.py").read_text() == "one"
    assert not (into / "data.ckpt").exists()
    assert [each.name for each in into.parent.iterdir()] == ["code"]


def test_code_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    assert get_code.main(["--source=https://nowhere/x@1", f"--into={tmp_path / 'code'}"]) == 0


def test_a_commit_that_is_not_there(
    repository: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = f"{repository[0]}@{'0' * 40}"
    assert get_code.main([f"--source={source}", f"--into={tmp_path / 'code'}"]) == 1
    assert "get_code" in capfd.readouterr().err
    assert not (tmp_path / "code").exists()


def on_s3(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An object that is a zip with one file of that name; its address."""

    def download(_source: str, archive: Path) -> Path:
        with zipfile.ZipFile(archive, "w") as packed:
            packed.writestr(name, "x")
        return archive

    monkeypatch.setattr(get_code, "_download", download)
    return f"s3://bucket/{folder.name}.zip"


def test_a_zip_on_s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = on_s3(tmp_path, "a/train.py", monkeypatch)
    assert get_code.main([f"--source={source}", f"--into={tmp_path / 'code'}"]) == 0
    assert (tmp_path / "code" / "a" / "train.py").read_text() == "x"


def test_a_zip_that_leads_out_of_its_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = on_s3(tmp_path, "../../evil", monkeypatch)
    assert get_code.main([f"--source={source}", f"--into={tmp_path / 'code'}"]) == 1
    assert "out of its folder" in capsys.readouterr().err
    assert not (tmp_path.parent / "evil").exists()


def test_two_jobs_that_fetch_into_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, into = on_s3(tmp_path, "a.py", monkeypatch), tmp_path / "code"
    other = get_code.leave_out

    def late(folder: Path, patterns: list[str]) -> None:
        (into / "a.py").parent.mkdir()
        (into / "a.py").write_text("of the other")
        other(folder, patterns)

    monkeypatch.setattr(get_code, "leave_out", late)
    assert get_code.main([f"--source={source}", f"--into={into}"]) == 0
    assert (into / "a.py").read_text() == "of the other"


TREE = (
    "a.py", "b/a.ckpt", "b/c/d.py", "b/c/build", "build/x", "sub/build/y", "data/keep.txt",
    "data/drop.txt", "data/in/z.py", "#odd", "!odd", "a b", "x[1]", "x1", "src/a.py", "src/in/a.py",
)  # fmt: skip


def left_of(folder: Path, patterns: list[str]) -> set[str]:
    for name in TREE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    get_code.leave_out(folder, patterns)
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


PATTERNS = [
    ["*.ckpt", "b/c"],
    ["data/*", "!data/keep.txt"],
    ["build/"],
    ["build"],
    ["/build"],
    ["sub/build/"],
    ["src/*.py"],
    ["**/a.py"],
    ["src/**/a.py"],
    ["src/**"],
    ["s**c/a.py"],
    ["#odd", "", "   "],
    ["\\#odd", "\\!odd"],
    ["a b  "],
    ["x[0-9]"],
    ["x[!0-9]*"],
    ["x\\[1\\]"],
    ["?.py"],
    ["*", "!*/", "!*.py"],
]
# Git does not look into a folder that is left out.
INTO_FOLDERS = [["data/", "!data/keep.txt"], ["*", "!*.py"]]


@pytest.mark.parametrize("patterns", PATTERNS)
def test_patterns_mean_the_same_for_an_uploaded_zip(patterns: list[str], tmp_path: Path) -> None:
    """Those are read by the server."""
    wanted = {name for name in TREE if not ignored(patterns).match_file(name)}
    assert left_of(tmp_path, patterns) == wanted


@pytest.mark.parametrize("patterns", [*PATTERNS, *INTO_FOLDERS])
def test_patterns_mean_what_they_mean_to_git(patterns: list[str], tmp_path: Path) -> None:
    left = left_of(tmp_path / "ours", patterns)
    repository = tmp_path / "git"
    repository.mkdir()
    left_of(repository, [])
    subprocess.run(["git", "-C", str(repository), "init", "-q"], check=True)
    (tmp_path / "patterns").write_text("\n".join(patterns))
    listed = subprocess.run(
        ["git", "-C", str(repository), "ls-files", "-z", "-o", "-X", str(tmp_path / "patterns")],
        check=True,
        capture_output=True,
        text=True,
    )
    assert left == {name for name in listed.stdout.split("\0") if name}


def test_a_link_to_a_folder_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "code" / "real").mkdir(parents=True)
    (tmp_path / "code" / "link").symlink_to("real")
    get_code.leave_out(tmp_path / "code", ["link/"])
    assert (tmp_path / "code" / "link").is_symlink()
    get_code.leave_out(tmp_path / "code", ["link"])
    assert [path.name for path in (tmp_path / "code").iterdir()] == ["real"]
