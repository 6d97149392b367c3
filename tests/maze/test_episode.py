import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.maze.env import EXECUTED
from app.maze.episode import Episode, EpisodeOver
from app.maze.generate import generate
from app.maze.parse import KEYWORDS, Dialect, spell
from app.maze.prompt import PARSE_FAILURES, SUFFIXES, task
from app.maze.replay import replay
from app.maze.solve import shortest_path, turns_needed

NAMES = ["right", "up", "left", "down"]
TAGS = "<observation>o</observation><justification>j</justification><action>{}</action>"
answers = st.sampled_from([*map(TAGS.format, KEYWORDS.values()), *KEYWORDS.values(), "", "no"])


def _solution(seed: int, dialect: Dialect) -> list[str]:
    moves = [NAMES[direction] for direction in shortest_path(generate(seed))]
    return [spell(keyword, dialect) for keyword in [*moves, "stop"]]


@pytest.mark.parametrize("dialect", Dialect)
def test_the_shortest_path_solves(dialect: Dialect) -> None:
    episode = Episode("maze_2d/easy", 1, max_turns=18, dialect=dialect)
    results = [episode.turn(answer) for answer in _solution(1, dialect)]
    assert [result.done for result in results] == [False] * 16 + [True]
    assert [result.number for result in results] == list(range(1, 18))
    assert all(result.parsed and result.feedback == EXECUTED for result in results)
    assert episode.solved
    assert results[-1].reward == (0.8 if dialect is Dialect.TUPLE else 1.0)


def test_the_keyword_dialect_pays_nothing_for_tags() -> None:
    episode = Episode("maze_2d/easy", 0, max_turns=1, dialect=Dialect.KEYWORD)
    result = episode.turn(TAGS.format("stop"))
    assert (result.action, result.terminated, result.reward) == (KEYWORDS["stop"], True, 0.0)
    assert episode.metrics() == {
        "step_count": 1,
        "parse_failures": 0,
        "visgym_env_id": "maze_2d/easy",
    }


@pytest.mark.parametrize("dialect", Dialect)
def test_an_answer_without_an_action_leaves_the_maze_alone(dialect: Dialect) -> None:
    episode = Episode("maze_2d/easy", 0, max_turns=2, dialect=dialect)
    picture = episode.messages[0]["content"][1]
    result = episode.turn("I do not know")
    assert (result.action, result.done, result.feedback) == (None, False, PARSE_FAILURES[dialect])
    assert episode.messages[2]["content"] == [
        {"type": "text", "text": PARSE_FAILURES[dialect]},
        picture,
    ]
    assert episode.turn("nor now").done
    assert episode.parse_failures == 2


@pytest.mark.parametrize("dialect", Dialect)
def test_a_conversation_starts_with_the_task_then_the_picture(dialect: Dialect) -> None:
    episode = Episode("maze_2d/7x11", 0, max_turns=1, dialect=dialect)
    (message,) = episode.messages
    text, image = message["content"]
    assert text["text"] == task(height=7, width=11) + SUFFIXES[dialect]
    assert text["text"].startswith("You are navigating a 7x11 maze.")
    head, _, data = image["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == episode.env.png()


@given(st.integers(0, 500), st.integers(1, 20), st.lists(answers, min_size=20, max_size=20))
def test_an_episode_ends_in_time_and_pays_once(
    seed: int, max_turns: int, given_answers: list[str]
) -> None:
    episode = Episode("maze_2d/easy", seed, max_turns=max_turns)
    results = []
    while not episode.done:
        results.append(episode.turn(given_answers[episode.turns]))
    assert len(results) <= max_turns
    assert all(result.reward == 0.0 for result in results[:-1])
    assert 0.0 <= results[-1].reward <= 1.0
    assert episode.solved == (results[-1].reward >= 0.8)
    assert len(episode.messages) == 2 * len(results)
    assert episode.parse_failures == sum(not result.parsed for result in results)


def test_a_turn_after_the_end_is_refused() -> None:
    episode = Episode("maze_2d/easy", 0, max_turns=5)
    episode.turn(KEYWORDS["stop"])
    with pytest.raises(EpisodeOver, match="ended after 1 turns"):
        episode.turn(KEYWORDS["stop"])


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="max_turns must be at least 1"):
        Episode("maze_2d/easy", 0, max_turns=0)
    with pytest.raises(ValueError, match="unknown environment"):
        Episode("maze_2d/medium", 0, max_turns=5)
    with pytest.raises(ValueError, match="seed must be an integer"):
        Episode("maze_2d/easy", -1, max_turns=5)


def test_a_replay_shows_the_pictures_of_the_episode() -> None:
    episode = Episode("maze_2d/easy", 3, max_turns=99)
    solution = _solution(3, Dialect.TUPLE)
    actions, pictures = [], [episode.env.png()]
    for answer in [*solution[:4], "hm", *solution[4:]]:
        actions.append(episode.turn(answer).action)
        pictures.append(episode.env.png())
    assert len(actions) == turns_needed(generate(3)) + 1
    assert [env.png() for env in replay("maze_2d/easy", 3, actions=actions)] == pictures


def test_a_replay_refuses_bad_arguments_at_once() -> None:
    with pytest.raises(ValueError, match="unknown environment"):
        replay("maze_2d/medium", 3, actions=[])
