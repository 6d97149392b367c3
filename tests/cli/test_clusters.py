"""`skydeck cluster` against a real server; secrets come in by stdin, never by an argument."""

import io
import json
import sys
from pathlib import Path

import pytest

from app.secrets.crypto import make_file
from tests.cli.conftest import Skydeck
from tests.clusters.test_registration import kubeconfig

TOKEN = "ray_9d8c7b6a5f"
LAB = ("Lab", "https://ray.example.com")


@pytest.fixture
def keys(home: Path, skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key file, and an administrator's token."""
    make_file(home / "secret.keys")
    made = skydeck("token", "create", "--name", "root", "--scope", "admin")
    monkeypatch.setenv("SKYDECK_TOKEN", made.out.strip())


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{TOKEN}\n"))


def test_a_cluster_is_added_changed_and_removed(
    keys: None, typed: None, server: str, skydeck: Skydeck
) -> None:
    made = skydeck("cluster", "add", *LAB, "--credential", "token")
    assert made.status == 0, made.err
    cluster = made.out.strip()
    assert cluster.startswith("cluster-")
    listed = skydeck("cluster", "list").out
    assert cluster in listed
    assert "embedded" in listed
    assert skydeck("cluster", "change", cluster, "--max-running", "3").status == 0
    shown = skydeck("cluster", "show", cluster).out
    assert "runs        3 at a time" in shown
    assert "credential  token" in shown
    assert TOKEN not in shown
    assert skydeck("cluster", "remove", cluster, "--yes").out == f"{cluster} removed\n"
    gone = skydeck("cluster", "show", cluster)
    assert (gone.status, gone.err) == (1, f"skydeck: there is no cluster {cluster}\n")


def test_a_kubeconfig_comes_from_a_file(
    keys: None, server: str, skydeck: Skydeck, tmp_path: Path
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig())
    address = ("Pod", "sagemaker_ray://skyrl/team-a", "--credential", "kubeconfig")
    made = skydeck("cluster", "add", *address, "--kubeconfig", str(file))
    assert made.status == 0, made.err
    found = json.loads(skydeck("cluster", "show", made.out.strip(), "--json").out)
    assert (found["kind"], found["credential"]) == ("hyperpod", "kubeconfig")
    missing = skydeck("cluster", "add", *address, "--kubeconfig", str(tmp_path / "none"))
    assert missing.status == 1
    assert "cannot be read" in missing.err


def test_what_is_wrong_is_one_line(keys: None, server: str, skydeck: Skydeck) -> None:
    refused = skydeck("cluster", "add", "Lab", "nowhere")
    assert refused.status == 1
    assert "no address of a Ray cluster" in refused.err
