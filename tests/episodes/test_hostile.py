"""Whatever an endpoint does: a clear state on that turn, nothing lost, and a retry that works."""

import httpx
import pytest

from app.episodes.states import Outcome
from tests.api.helpers import get, post
from tests.episodes.factories import solution
from tests.episodes.test_api import follow, make
from tests.fakes.openai_hostile import BEHAVIOURS
from tests.fakes.openai_server import BASE, FakeOpenAI

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.mark.parametrize("name", BEHAVIOURS)
async def test_each_ends_in_a_clear_state(
    api: httpx.AsyncClient, served: FakeOpenAI, name: str
) -> None:
    follow(served, BASE, solution())
    made = await make(api, BASE)
    path = f"/episodes/{made['id']}"
    before = (await post(api, f"{path}/turns", {}))["lanes"][0]["turns"]
    served.behave(BASE, name)
    lane = (await post(api, f"{path}/turns", {}))["lanes"][0]
    assert lane["turns"][:1] == before
    assert not lane["answering"]
    served.behave(BASE, None)
    if lane["outcome"] == Outcome.CONTEXT_LIMIT:
        assert lane["failure"]["kind"] == "context_overflow"
        branch = await post(api, f"{path}/fork", {"turn": 1})
        path = f"/episodes/{branch['id']}"
        again = (await post(api, f"{path}/turns", {}))["lanes"][0]
    elif lane["status"] == "failed":
        message = lane["failure"]["message"]
        assert 10 < len(message) <= 500
        assert not set("<>\x1b\n") & set(message)
        assert "test-key" not in message
        assert lane["turn_count"] == 1
        again = (await post(api, f"{path}/retry", {}))["lanes"][0]
    else:
        assert (lane["status"], lane["turn_count"]) == ("asking", 2)
        return
    assert (again["status"], again["turn_count"], again["failure"]) == ("asking", 2, None)
    assert again["turns"][1]["raw"] == solution()[1]
    assert await get(api, path)
