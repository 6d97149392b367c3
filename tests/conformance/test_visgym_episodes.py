"""`app.maze` against recordings of SkyRL's wrapper: parsing, conversations, final rewards."""

import base64
import hashlib
import io
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.maze.episode import Episode, Message
from app.maze.parse import Dialect, extract_keyword, extract_tuple, has_valid_format
from tests.conformance.cases import case_files

_URI_START = "data:image/png;base64,"


def _action_cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}-{number}")
        for path in case_files("visgym", "action-cases.json")
        for number, case in enumerate(json.loads(path.read_text())["cases"])
    ]


def _episodes() -> list[Any]:
    return [
        pytest.param(episode, id=f"{path.stem}-{episode['name']}")
        for path in case_files("visgym", "*-episodes.json")
        for episode in json.loads(path.read_text())["episodes"]
    ]


@pytest.mark.parametrize("case", _action_cases())
def test_answers_parse_as_recorded(case: dict[str, Any]) -> None:
    answer = case["input"]
    as_tuple, as_keyword = extract_tuple(answer), extract_keyword(answer)
    assert as_tuple._asdict() == _expected(case["extract_action"])
    assert as_keyword._asdict() == _expected(case["extract_relaxed_action"])
    assert has_valid_format(answer) == case["sft_valid_format"]


@pytest.mark.parametrize("recorded", _episodes())
def test_whole_episodes_go_as_recorded(recorded: dict[str, Any]) -> None:
    episode = Episode(
        recorded["env_metrics"]["visgym_env_id"],
        recorded["seed"],
        max_turns=recorded["max_turns"],
        dialect=Dialect.TUPLE,
    )
    conversation = list(recorded["initial_messages"])
    assert _hashed(episode.messages) == conversation
    for expected in recorded["steps"]:
        result = episode.turn(expected["assistant"])
        conversation.append({"role": "assistant", "content": expected["assistant"]})
        conversation.extend(expected["observations"])
        assert _hashed(episode.messages) == conversation
        assert result.reward == pytest.approx(expected["reward"], abs=1e-12)
        assert result.done == expected["done"]
        assert result.metadata() == expected["metadata"]
    assert episode.metrics() == recorded["env_metrics"]
    assert episode.solved == recorded["solved"]
    assert (result.reward > 0) == recorded["counts_as_pass"]


def _expected(recorded: dict[str, Any]) -> dict[str, Any]:
    return {"action": recorded["result"], "matched": recorded["matched"]}


def _hashed(messages: list[Message]) -> list[Message]:
    """The messages with each picture replaced by the hash of its pixels, as recorded."""
    return [{**message, "content": _hashed_content(message["content"])} for message in messages]


def _hashed_content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [part if part["type"] == "text" else _hashed_image(part) for part in content]


def _hashed_image(part: dict[str, Any]) -> dict[str, Any]:
    uri: str = part["image_url"]["url"]
    assert uri.startswith(_URI_START)
    with Image.open(io.BytesIO(base64.b64decode(uri.removeprefix(_URI_START)))) as image:
        digest = hashlib.sha256(np.asarray(image).tobytes()).hexdigest()
    return {"type": part["type"], "image_url": {"url": f"{_URI_START}<rgb_sha256:{digest}>"}}
