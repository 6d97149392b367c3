"""Episodes over the API, with a fake server's models behind."""

import asyncio
import base64
from typing import Any

import httpx
import pytest
from limits.strategies import SlidingWindowCounterRateLimiter

from app.maze.generate import generate
from tests.api.helpers import V1, get, post, problem
from tests.episodes.factories import solution, wall
from tests.fakes.openai_server import BASE, FakeOpenAI

ADAPTER = f"{BASE}:maze-stopfix"


async def make(api: httpx.AsyncClient, *models: str | None, **given: Any) -> Any:
    lanes = [{"endpoint": "end-1", "model": name} if name else {} for name in models]
    return await post(api, "/episodes", {"lanes": lanes} | given)


def follow(fake: FakeOpenAI, model: str, answers: list[str]) -> None:
    """The model says the n-th answer when it is asked the n-th time."""
    fake.answers[model] = lambda messages: answers[len(messages) // 2]


async def test_base_and_adapter_play_side_by_side(
    api: httpx.AsyncClient, served: FakeOpenAI
) -> None:
    follow(served, ADAPTER, solution())
    served.answers[BASE] = lambda _messages: wall()
    made = await make(api, BASE, ADAPTER, env_id="maze_2d/easy", seed=0, max_turns=15)
    maze = generate(0)
    assert made["maze"] == {
        "map": maze.map.tolist(),
        "agent": list(maze.start),
        "target": list(maze.target),
        "shortest_path": len(solution()) - 1,
    }
    for _ in solution():
        seen = await post(api, f"/episodes/{made['id']}/turns", {})
    base, adapter = seen["lanes"]
    assert (base["model"], base["status"], base["solved"]) == (BASE, "asking", False)
    assert (adapter["status"], adapter["outcome"], adapter["solved"]) == ("over", "solved", True)
    assert (adapter["reward"], adapter["passed"]) == (1.0, True)
    assert adapter["agent"] == list(maze.target)
    turn = adapter["turns"][0]
    assert (turn["number"], turn["raw"], turn["parsed"]) == (1, solution()[0], True)
    assert turn["usage"]["prompt_tokens"] > 0
    assert turn["latency_seconds"] > 0
    assert turn["messages"] is None
    assert seen == await get(api, f"/episodes/{made['id']}")


async def test_a_turn_and_a_stop_need_no_body(api: httpx.AsyncClient, served: FakeOpenAI) -> None:
    made = await make(api, BASE)
    turned = await api.post(f"{V1}/episodes/{made['id']}/turns")
    assert turned.status_code == 200
    assert turned.json()["lanes"][0]["turn_count"] == 1
    stopped = await api.post(f"{V1}/episodes/{made['id']}/stop")
    assert stopped.json()["lanes"][0]["outcome"] == "stopped"


async def test_what_was_asked_is_shown_word_for_word(
    api: httpx.AsyncClient, served: FakeOpenAI
) -> None:
    follow(served, BASE, solution())
    made = await make(api, BASE, sampling={"temperature": 0.5, "seed": 7})
    for _ in range(3):
        await post(api, f"/episodes/{made['id']}/turns", {"lane": 1})
    path = f"/episodes/{made['id']}"
    whole = await get(api, path, messages=True)
    for number, sent in enumerate(served.requests, start=1):
        one = await get(api, f"{path}/lanes/1/turns/{number}")
        assert one["messages"] == sent["messages"]
        assert whole["lanes"][0]["turns"][number - 1]["messages"] == sent["messages"]
        assert (one["model"], one["turn"]["raw"]) == (sent["model"], solution()[number - 1])
        assert one["sampling"]["temperature"] == sent["temperature"] == 0.5
        assert one["sampling"]["seed"] == sent["seed"] == 7
    picture = one["messages"][0]["content"][1]["image_url"]["url"].partition(",")[2]
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    problem(await api.get(f"{V1}{path}/lanes/1/turns/4"), 404)
    problem(await api.get(f"{V1}{path}/lanes/2/turns/1"), 404)


async def test_a_person_plays_beside_a_model(api: httpx.AsyncClient, served: FakeOpenAI) -> None:
    made = await make(api, None, BASE)
    path = f"/episodes/{made['id']}/turns"
    seen = await post(api, path, {"action": "up"})
    assert [lane["turn_count"] for lane in seen["lanes"]] == [1, 0]
    assert seen["lanes"][0]["turns"][0]["source"] == "person"
    assert seen["lanes"][0]["endpoint"] is None
    seen = await post(api, path, {"lane": 2, "action": "('stop', 'stop')"})
    assert seen["lanes"][1]["outcome"] == "wrong_stop"
    refused = problem(await api.post(V1 + path, json={"lane": 1, "action": "jump"}), 422)
    assert refused["errors"][0]["field"] == "action"
    problem(await api.post(V1 + path, json={"lane": 3, "action": "up"}), 422)
    assert "over" in problem(await api.post(V1 + path, json={"lane": 2}), 409)["detail"]
    assert not served.requests


async def test_a_failure_is_said_and_retried(api: httpx.AsyncClient, served: FakeOpenAI) -> None:
    follow(served, BASE, solution())
    made = await make(api, BASE, None)
    path = f"/episodes/{made['id']}"
    await post(api, f"{path}/turns", {})
    served.behave(BASE, "html-500")
    seen = await post(api, f"{path}/turns", {})
    lane = seen["lanes"][0]
    assert (lane["status"], lane["turn_count"], lane["answering"]) == ("failed", 1, False)
    assert lane["failure"]["kind"] == "server_error"
    assert "<" not in lane["failure"]["message"]
    served.behave(BASE, None)
    seen = await post(api, f"{path}/retry", {"lane": None})
    assert (seen["lanes"][0]["status"], seen["lanes"][0]["turn_count"]) == ("asking", 2)
    assert seen["lanes"][0]["failure"] is None
    problem(await api.post(f"{V1}{path}/retry", json={}), 409)


async def test_a_turn_that_was_taken_is_not_taken_again(
    api: httpx.AsyncClient, served: FakeOpenAI
) -> None:
    served.latency_seconds = 0.05
    made = await make(api, BASE)
    path = f"{V1}/episodes/{made['id']}/turns"
    answers = await asyncio.gather(*(api.post(path, json={"turn": 1}) for _ in range(5)))
    assert {answer.status_code for answer in answers} <= {200, 409}
    seen = await post(api, f"/episodes/{made['id']}/turns", {"turn": 1})
    assert seen["lanes"][0]["turn_count"] == 1
    assert len(served.requests) == 1


async def test_episodes_are_listed_branched_stopped_and_deleted(
    api: httpx.AsyncClient, served: FakeOpenAI
) -> None:
    made = [await make(api, BASE, seed=seed) for seed in range(3)]
    first = await get(api, "/episodes", limit=2)
    assert [item["seed"] for item in first["items"]] == [2, 1]
    rest = await get(api, "/episodes", limit=2, cursor=first["next_cursor"])
    assert [item["id"] for item in rest["items"]] == [made[0]["id"]]
    assert rest["next_cursor"] is None
    assert first["items"][0]["lanes"][0]["status"] == "asking"
    path = f"/episodes/{made[0]['id']}"
    await post(api, f"{path}/turns", {})
    branch = await post(api, f"{path}/fork", {"turn": 1})
    assert branch["parent"] == {"id": made[0]["id"], "turn": 1}
    assert branch["lanes"][0]["turn_count"] == 1
    problem(await api.post(f"{V1}{path}/fork", json={"turn": 2}), 422)
    stopped = await post(api, f"{path}/stop", {})
    assert (stopped["lanes"][0]["status"], stopped["lanes"][0]["outcome"]) == ("over", "stopped")
    assert (await api.delete(V1 + path)).status_code == 204
    problem(await api.get(V1 + path), 404)
    assert (await get(api, f"/episodes/{branch['id']}"))["parent"] is None


async def test_making_one_twice_by_key_makes_one(
    api: httpx.AsyncClient, served: FakeOpenAI
) -> None:
    body = {"lanes": [{"endpoint": "end-1", "model": BASE}], "seed": 3}
    headers = {"Idempotency-Key": "once"}
    first = await post(api, "/episodes", body, headers=headers)
    assert await post(api, "/episodes", body, headers=headers) == first
    assert len((await get(api, "/episodes"))["items"]) == 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"env_id": "maze_2d/8x9"}, "env_id"),
        ({"env_id": "maze_2d/medium"}, "env_id"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"max_turns": 201}, "max_turns"),
        ({"lanes": []}, "lanes"),
        ({"lanes": [{}] * 5}, "lanes"),
        ({"lanes": [{"endpoint": "end-1"}]}, "lanes.0"),
        ({"dialect": "french"}, "dialect"),
        ({"sampling": {"temperature": 3}}, "sampling.temperature"),
    ],
)
async def test_what_cannot_be_played_is_refused(
    api: httpx.AsyncClient, served: FakeOpenAI, given: dict[str, Any], field: str
) -> None:
    answer = await api.post(f"{V1}/episodes", json={"lanes": [{}]} | given)
    assert [each["field"] for each in problem(answer, 422)["errors"]] == [field]


async def test_turns_have_a_limit_of_their_own(
    api: httpx.AsyncClient, served: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await make(api, None)
    path = f"{V1}/episodes/{made['id']}/turns"
    # Each request weighs as a tenth of a minute's, so that a busy machine needs no minute.
    hit = SlidingWindowCounterRateLimiter.hit
    monkeypatch.setattr(
        SlidingWindowCounterRateLimiter,
        "hit",
        lambda self, item, *who: hit(
            self, item, *who, cost=item.amount // 10 if "turns" in who else 1
        ),
    )
    answers = [await api.post(path, json={"turn": 99}) for _ in range(11)]
    assert {each.status_code for each in answers[:-1]} == {409}
    assert answers[-1].status_code == 429
