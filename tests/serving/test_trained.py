"""What is served is what was trained: the same words on the same pictures."""

from pathlib import Path

import httpx
import numpy as np

from app.maze.episode import Episode
from app.maze.eval_sets import EASY_SOLVABLE_15
from tests.serving import adapters
from tests.serving.conftest import ask, opening, says
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.evalsets import mazes_of
from worker.jobs.maze_grpo.evaluate import Evaluator
from worker.jobs.maze_grpo.export import read_adapter, read_base
from worker.jobs.maze_grpo.mazes import STATES, board
from worker.jobs.maze_grpo.model import Policy
from worker.jobs.maze_grpo.pixels import from_kinds

BASE = read_base(BASE_FILE)[0]


async def played(api: httpx.AsyncClient, model: str, seed: int) -> tuple[int, float]:
    """Turns and reward of one episode over the API."""
    chosen = EASY_SOLVABLE_15
    episode = Episode(chosen.env_id, seed, max_turns=chosen.max_turns, dialect=chosen.dialect)
    reward = 0.0
    while not episode.done:
        reward += episode.turn(await says(api, episode.messages, model=model)).reward
    return episode.turns, reward


async def test_the_base_plays_each_maze_as_in_the_trainers_evaluation(
    api: httpx.AsyncClient,
) -> None:
    trained = Evaluator(EASY_SOLVABLE_15).evaluate(Policy(BASE))
    assert 0 < trained.solved < len(trained.played)
    found = [await played(api, "maze-base", each.seed) for each in trained.played]
    assert found == [(each.turns, each.reward) for each in trained.played]


async def test_an_adapter_plays_each_maze_as_in_the_trainers_evaluation(
    api: httpx.AsyncClient, folder: Path
) -> None:
    lora, adapter, _ = read_adapter(adapters.write(folder / "mine"))
    trained = Evaluator(EASY_SOLVABLE_15).evaluate(Policy(lora.merge(BASE, adapter)))
    for each in trained.played[:12]:
        assert await played(api, "maze-base:mine", each.seed) == (each.turns, each.reward)


def test_one_picture_gets_the_word_that_it_gets_among_many() -> None:
    mazes = board(mazes_of(EASY_SOLVABLE_15))
    rows = np.repeat(np.arange(len(mazes)), STATES)
    states = np.tile(np.arange(STATES), len(mazes))
    pictures = from_kinds(mazes.kinds(rows, states))
    policy = Policy(BASE)
    alone = [int(policy.log_probs(each[None])[0].argmax()) for each in pictures]
    assert alone == policy.log_probs(pictures).argmax(1).tolist()


async def test_the_adapter_answers_otherwise_than_the_base(
    api: httpx.AsyncClient, folder: Path
) -> None:
    adapters.write(folder / "mine")
    words = {
        model: [await says(api, opening(seed), model=model) for seed in range(20)]
        for model in ("maze-base", "maze-base:mine")
    }
    assert words["maze-base"] != words["maze-base:mine"]


async def test_the_last_picture_counts(api: httpx.AsyncClient) -> None:
    both = [*opening(0), {"role": "assistant", "content": "x"}, *opening(3)]
    found = await ask(api, both, logprobs=True)
    alone = await ask(api, opening(3), logprobs=True)
    assert found.json()["choices"] == alone.json()["choices"]
    assert found.json()["usage"]["prompt_tokens"] > alone.json()["usage"]["prompt_tokens"]
