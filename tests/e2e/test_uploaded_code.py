"""Own code on a real Ray head: a zip, variables and a set-up command, from upload to log."""

import io
import zipfile

import pytest

from app.client import Client
from app.errors import Invalid
from tests.e2e.runs import wait_ended
from tests.e2e.skydeck import Skydeck

pytestmark = [pytest.mark.ray, pytest.mark.slow]

TRAIN = """\
import os
from pathlib import Path

import ray

import mine.steps

ray.init(log_to_driver=False)


@ray.remote
def elsewhere() -> tuple[str, str, str]:
    # A worker of Ray finds the code and the variables, too.
    import mine.steps

    return mine.steps.NAME, os.environ["COLOUR"], os.environ["PLACE"]


print("set up:", Path("made-by-set-up").read_text().strip())
print("left out:", Path("data.ckpt").exists())
print("here:", mine.steps.NAME, os.environ["COLOUR"], os.environ["PRICE"])
print("elsewhere:", *ray.get(elsewhere.remote()))
Path(os.environ["SKYDECK_RUN_DIR"], "result.txt").write_text(os.environ["SKYDECK_RUN_ID"])
"""


def packed(files: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file.getvalue()


CODE = {
    "train.py": TRAIN,
    "mine/__init__.py": "",
    "mine/steps.py": "NAME = 'steps'\n",
    "data.ckpt": "x" * 100_000,
}


def launch(client: Client, reference: str) -> str:
    config = {
        "job.entrypoint": "python train.py",
        "job.working_dir": reference,
        "job.excludes": ["*.ckpt"],
        "job.environment": {"COLOUR": "it's blue", "PLACE": "of {run_id}", "PRICE": "5 $HOME"},
        "job.setup_commands": ["echo done > made-by-set-up"],
    }
    experiment = client.create_experiment("my own code", "command", config=config)
    return str(client.create_run(experiment["id"])["id"])


def test_a_zip_runs_with_its_variables_and_its_log_is_kept(skydeck: Skydeck) -> None:
    with skydeck.client() as client:
        uploaded = client.upload_code(packed(CODE), name="code.zip")
        assert client.upload_code(packed(CODE)).items() >= {"id": uploaded["id"]}.items()
        with pytest.raises(Invalid, match="built-in recipes only"):
            launch(client, uploaded["reference"])
        with skydeck.client("admin") as admin:
            admin.change_cluster("embedded", runs_member_code=True)
        run_id = launch(client, uploaded["reference"])
        run = wait_ended(client, run_id)
        log = b"".join(client.iter_log_bytes(run_id)).decode()
        assert run["status"] == "succeeded", log
        assert "set up: done\n" in log
        assert "left out: False\n" in log
        assert "here: steps it's blue 5 $HOME\n" in log
        assert f"elsewhere: steps it's blue of {run_id}\n" in log
        result = skydeck.home / "runs" / run_id / "result.txt"
        assert result.read_text() == run_id
        assert client.get_code(uploaded["id"])["is_used"]
