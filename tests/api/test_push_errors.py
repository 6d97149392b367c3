"""What is said of a push that is wrong: where, that nothing of it was stored, and what to do."""

import gzip
import json
from typing import Any

import httpx
import pytest

from app.api.bodies import gunzip
from app.errors import TooLarge
from app.metrics import api as metrics_api
from tests.api.helpers import V1, get, make_external, problem

LINES = {"Content-Type": "application/x-ndjson"}
GOOD = b'{"step": 1, "loss": 1}\n\n'


async def push(api: httpx.AsyncClient, run: Any, content: bytes, **headers: str) -> httpx.Response:
    path = f"{V1}/runs/{run['id']}/metrics"
    return await api.post(path, content=content, headers=LINES | headers)


@pytest.mark.parametrize(
    ("line", "place", "words"),
    [
        (b'{"step": 2, "loss": }', "line 3", "this is no JSON"),
        (b"[1, 2]", "line 3", "give an object"),
        (b'{"step": 2.5, "loss": 1}', "line 3.step", "whole number of 64 bits"),
        (b'{"loss": 1}', "line 3.step", "whole number of 64 bits"),
        (b'{"step": 2, "loss": "low"}', "line 3.loss", 'a number, "NaN"'),
        (b'{"step": 2, "loss": true}', "line 3.loss", "a number"),
        (b'{"step": 2, "loss": {"a": 1}}', "line 3.loss", "a number"),
        (b'{"step": 2, "time": "noon", "loss": 1}', "line 3.time", "RFC 3339"),
        (b'{"key": "", "step": 2, "value": 1}', "line 3.key", "1 to 500 characters"),
        (b'{"step": 2, "' + b"k" * 501 + b'": 1}', "key", "1 to 500 characters"),
        (b"\xff", "line 3", "this is no JSON"),
    ],
)
async def test_the_line_and_its_part_are_named_and_nothing_is_stored(
    api: httpx.AsyncClient, line: bytes, place: str, words: str
) -> None:
    run = await make_external(api)
    answer = await push(api, run, GOOD + line + b"\n" + GOOD)
    found = problem(answer, 422)
    assert found["errors"][0]["field"] == place
    assert words in found["errors"][0]["message"]
    assert "no point was stored" in found["detail"]
    assert (await get(api, f"/runs/{run['id']}/metrics"))["items"] == []


async def test_the_last_line_of_a_compressed_body_counts_too(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    lines = b"".join(b'{"step": %d, "loss": 1}\n' % step for step in range(9_999))
    packed = gzip.compress(lines + b'{"step": 9999, "loss": 1')
    answer = await push(api, run, packed, **{"Content-Encoding": "gzip"})
    assert problem(answer, 422)["errors"][0]["field"] == "line 10000"
    assert (await get(api, f"/runs/{run['id']}/metrics"))["items"] == []
    packed = gzip.compress(lines)
    answer = await push(api, run, packed, **{"Content-Encoding": "gzip"})
    assert answer.json() == {"accepted": 9_999}


async def test_a_push_that_is_sent_again_changes_nothing(api: httpx.AsyncClient) -> None:
    """As after an answer that got lost: the last point at a step counts."""
    run = await make_external(api)
    body = b"".join(b'{"step": %d, "time": 5, "loss": %d}\n' % (step, step) for step in range(600))
    for _ in range(3):
        assert (await push(api, run, body)).json() == {"accepted": 600}
    (summary,) = (await get(api, f"/runs/{run['id']}/metrics"))["items"]
    found = (await get(api, "/series", run=run["id"], key="loss", max_points=1_000))["series"]
    assert summary["count"] == len(found[0]["step"]) == 600


async def test_too_much_at_once_says_how_much_may_be_sent(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    steps = list(range(50_001))
    many = json.dumps({"step": steps, "a": steps, "b": steps}).encode()
    answer = await push(api, run, many, **{"Content-Type": "application/json"})
    assert "at most 100,000 points a call; send it in parts" in problem(answer, 422)["detail"]
    keys = json.dumps({"step": [1], **{f"k{n}": [1] for n in range(5_001)}}).encode()
    answer = await push(api, run, keys, **{"Content-Type": "application/json"})
    assert "at most 5,000 keys a call" in problem(answer, 422)["detail"]
    answer = await push(api, run, b" " * (metrics_api.SENT_BYTES + 1))
    assert "too large" in problem(answer, 413)["detail"]
    assert (await get(api, f"/runs/{run['id']}/metrics"))["items"] == []


def test_unpacking_stops_at_the_limit() -> None:
    assert gunzip(gzip.compress(b"x" * 10), max_bytes=10) == b"x" * 10
    with pytest.raises(TooLarge, match="more than 10 bytes"):
        gunzip(gzip.compress(b"x" * 11), max_bytes=10)
    # Neither do many members come to more together.
    with pytest.raises(TooLarge):
        gunzip(gzip.compress(b"x" * 6) * 2, max_bytes=10)


async def test_lines_that_are_sent_as_json_say_what_is_wrong(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    answer = await push(api, run, GOOD + GOOD, **{"Content-Type": "application/json"})
    assert problem(answer, 422)["errors"][0]["field"] == "body"


async def test_an_empty_push_is_no_error_and_makes_no_metric(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    assert (await push(api, run, b"\n\n")).json() == {"accepted": 0}
    assert (await push(api, run, b'{"step": 1, "loss": null}')).json() == {"accepted": 0}
    assert (await get(api, f"/runs/{run['id']}/metrics"))["items"] == []
