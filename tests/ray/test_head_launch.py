import os
import shutil
from pathlib import Path

import pytest

from app.ray import head_launch
from app.ray.head_launch import PORT_OPTIONS, head_environment, last_useful_line, plan
from app.ray.head_process import with_known_ports
from app.ray.head_state import ray_dir


def test_each_head_has_ports_a_folder_and_a_marker_of_its_own(home: Path) -> None:
    first, second = plan(home), plan(home)
    assert set(first.ports) == set(PORT_OPTIONS)
    assert len(set(first.ports.values())) == len(PORT_OPTIONS)
    assert first.temp_dir != second.temp_dir
    assert first.marker != second.marker
    assert first.temp_dir.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("below", "is_short"), [("", True), ("h" * 60, False)])
def test_socket_paths_fit_however_long_the_home_is(home: Path, below: str, is_short: bool) -> None:
    folder = plan(home / below).temp_dir
    name = "session_2026-11-29_18-11-13_581739_4194304/sockets/dash_MetricsHead"
    assert len(os.fsencode(folder / name)) <= 107
    assert (home in folder.parents) is is_short
    if not is_short:
        shutil.rmtree(folder.parent)


def test_a_foreign_folder_in_tmp_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    trap.symlink_to(tmp_path)
    monkeypatch.setattr(head_launch, "_bases", lambda _: (trap,))
    monkeypatch.setattr(head_launch, "_SOCKET_PATH_BYTES", 4096)
    with pytest.raises(PermissionError, match="somebody else"):
        plan(tmp_path)


def test_the_environment_holds_no_settings_and_no_other_ray() -> None:
    dirty = {
        "SKYDECK_HOME": "/h",
        "SKYDECK_DATABASE_URL": "postgresql://x",
        "DATABASE_URL": "postgresql://x",
        "TEST_DATABASE_URL": "postgresql://x",
        "PGPASSWORD": "x",
        "RAY_ADDRESS": "10.0.0.1:6379",
        "RAY_AUTH_TOKEN": "theirs",
        "HOME": "/root",
        "PATH": "/usr/bin",
    }
    clean = head_environment(dirty, token="ours", marker="m")
    assert not {"SKYDECK_HOME", "RAY_ADDRESS", "PGPASSWORD"} & set(clean)
    assert not [name for name in clean if "DATABASE_URL" in name]
    assert clean["HOME"] == "/root"
    assert clean["RAY_AUTH_TOKEN"] == "ours"
    assert clean["PATH"].endswith(os.pathsep + "/usr/bin")


def test_old_sessions_go_but_the_newest_and_the_kept(home: Path) -> None:
    folders = [plan(home).temp_dir for _ in range(4)]
    for age, folder in enumerate(folders):
        os.utime(folder, (1000 - age, 1000 - age))
    head_launch.remove_dead_sessions(home, keep=folders[3])
    assert [folder.exists() for folder in folders] == [True, False, False, True]


def test_what_ray_wrote_of_jobs_environments_is_forgotten(tmp_path: Path) -> None:
    logs = ray_dir(tmp_path) / "s" / "0fc31a" / "session_1" / "logs"
    logs.mkdir(parents=True)
    for name in ("runtime_env_agent.log", "runtime_env_agent.log.1", "raylet.out"):
        (logs / name).write_text("HF_TOKEN=value")
    (logs.parent.parent / "session_latest").symlink_to(logs.parent)
    head_launch.forget_environments(tmp_path)
    assert [each.name for each in logs.iterdir()] == ["raylet.out"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("\x1b[31mhello\x1b[0m\n\n", "hello"),
        ("ValueError: too small\nRemaining processes will be killed.\n", "ValueError: too small"),
        ("OSError: No space left on device\nat line 3\n", "OSError: No space left on device"),
    ],
)
def test_the_last_useful_line_names_the_error(tmp_path: Path, text: str, line: str) -> None:
    log = tmp_path / "head.log"
    log.write_text(text)
    assert last_useful_line(log) == line


def test_the_ports_of_the_agents_are_noted_before_the_node_starts() -> None:
    seen: list[object] = []

    def start_raylet(
        node_id: str,
        session_dir: str,
        metrics_agent_port: int,
        metrics_export_port: int,
        dashboard_agent_listen_port: int,
        runtime_env_agent_port: int,
    ) -> str:
        seen.append("started")
        return "process"

    start = with_known_ports(start_raylet, lambda *noted: seen.append(noted))
    ports = {"dashboard_agent_listen_port": 3, "runtime_env_agent_port": 4}
    assert start("n", "/s", 1, 2, **ports) == "process"
    assert seen == [
        ("/s", "n", "metrics_agent_port", 1),
        ("/s", "n", "metrics_export_port", 2),
        ("/s", "n", "dashboard_agent_listen_port", 3),
        ("/s", "n", "runtime_env_agent_port", 4),
        "started",
    ]
