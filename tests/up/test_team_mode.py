"""Where a team shares a database, `skydeck up` leaves the embedded cluster off and says why."""

import asyncio
import json
import subprocess
from pathlib import Path

import httpx
import pytest

from app.db import Database
from app.users import service as users
from tests.e2e.skydeck import Skydeck, command, running
from tests.factories import ADA

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_with_a_second_user_it_is_off_and_every_place_says_so(
    database_url: str, tmp_path: Path
) -> None:
    asyncio.run(_add_people(database_url))
    with running(tmp_path / "home", {"DATABASE_URL": database_url}) as skydeck:
        skydeck.wait_ready()
        assert skydeck.children("endpoint") == []
        token = skydeck_said(skydeck, "token", "create", "--name", "t", "--scope", "write").strip()
        headers = {"Authorization": f"Bearer {token}"}
        api = f"{skydeck.url}/api/v1"
        with httpx.Client(headers=headers, trust_env=False, timeout=60) as client:
            [cluster] = client.get(f"{api}/clusters").json()["items"]
            assert cluster["status"] == "stopped"
            assert "a team of 2 shares this database" in cluster["message"]
            body = {"name": "x", "recipe": "embedded-maze-grpo", "config": {}}
            experiment = client.post(f"{api}/experiments", json=body).json()["id"]
            answer = client.post(f"{api}/experiments/{experiment}/runs", json={})
        assert answer.status_code == 422
        assert "SKYDECK_EMBEDDED_CLUSTER=on" in answer.json()["detail"]
        checks = json.loads(skydeck_said(skydeck, "doctor", "--json"))["checks"]
        ray = next(check for check in checks if check["name"] == "ray")
        assert ray["ok"]
        assert "a team of 2 shares this database" in ray["message"]
        assert "no embedded cluster: a team of 2" in skydeck.stderr_file.read_text()


async def _add_people(url: str) -> None:
    database = Database(url)
    async with database.write() as session:
        for name in ("ada", "grace"):
            await users.create_user(session, name=name, is_admin=False, actor=ADA)
    await database.close()


def skydeck_said(skydeck: Skydeck, *arguments: str) -> str:
    done = subprocess.run(
        command(*arguments), env=skydeck.environ, capture_output=True, text=True, timeout=120
    )
    return done.stdout
