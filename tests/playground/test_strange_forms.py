"""Forms with what no database holds, in every field: said or put right, and never a crash."""

import httpx
import pytest

from app.db import Database
from app.endpoints.service import EMBEDDED, ensure_embedded

FORMS: dict[str, dict[str, str | list[str]]] = {
    "/playground": {
        "lane-1": f"{EMBEDDED} maze-base",
        "eval_set": "",
        "env_id": "maze_2d/easy",
        "seed": "3",
        "item": "1",
        "max_turns": "15",
        "dialect": "keyword",
        "project": "default",
        "temperature": "0",
        "form_key": "k",
    },
    "/evaluations/new": {
        "models": [f"{EMBEDDED} maze-base"],
        "eval_set": "easy-solvable-15",
        "project": "default",
        "name": "mine",
        "temperature": "0",
        "samples": "1",
        "concurrency": "1",
    },
    "/eval-sets": {
        "name": "mine",
        "env_id": "custom",
        "height": "7",
        "width": "9",
        "seeds": "0-3",
        "max_turns": "15",
        "dialect": "keyword",
        "project": "default",
    },
    "/endpoints": {"name": "mine", "base_url": "https://llm.example.com/v1", "key": ""},
}
STRANGE = ["\0", "a\0b", f"{EMBEDDED}\0 maze-base", f"{EMBEDDED} \0", "9" * 400, "1e400", "\u202e"]


@pytest.mark.parametrize("url", FORMS)
async def test_no_field_breaks_a_page(
    client: httpx.AsyncClient, page_database: Database, url: str
) -> None:
    async with page_database.write() as session:
        await ensure_embedded(session)
    fields = FORMS[url]
    for name in fields:
        for value in STRANGE:
            answer = await client.post(url, data=fields | {name: value})
            assert answer.status_code in (303, 400, 404, 409, 422), (name, value)
