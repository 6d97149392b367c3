import hashlib
import tomllib

import httpx
import pytest

from app.settings import ROOT
from app.web.assets import static_url

VENDOR = ROOT / "static" / "vendor"


def test_vendored_files_are_the_ones_that_were_recorded() -> None:
    listed = tomllib.loads((VENDOR / "VENDOR.toml").read_text())["file"]
    for entry in listed:
        assert hashlib.sha256((VENDOR / entry["path"]).read_bytes()).hexdigest() == entry["sha256"]
        assert entry["purpose"]
        assert (VENDOR / entry["licence_file"]).read_text()
    known = {e["path"] for e in listed} | {e["licence_file"] for e in listed} | {"VENDOR.toml"}
    assert {file.name for file in VENDOR.iterdir()} == known


async def test_a_file_asked_for_by_its_hash_is_kept_for_a_year(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get(static_url("js/app.js"))
    assert answer.status_code == 200
    assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("query", ["", "?v=000000000000"])
async def test_a_file_without_its_present_hash_is_asked_for_again(
    stranger: httpx.AsyncClient, query: str
) -> None:
    answer = await stranger.get(f"/static/js/app.js{query}")
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"


async def test_nothing_outside_the_folder_is_served(stranger: httpx.AsyncClient) -> None:
    assert (await stranger.get("/static/..%2fpyproject.toml")).status_code == 404
