"""Greedy evaluation by the way that an endpoint would go: PNG in, text out, text parsed.

Each episode is a real conversation of `app.maze`; the policy gets the picture of its last message
and nothing else. A picture that was met before is not decoded again.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.maze.episode import Episode
from app.maze.eval_sets import EvalSet
from worker.jobs.maze_grpo import files, metrics, pixels
from worker.jobs.maze_grpo.answers import TEXTS
from worker.jobs.maze_grpo.grpo import score
from worker.jobs.maze_grpo.model import VISUAL_TOKENS, Policy
from worker.jobs.maze_grpo.vectors import Floats

DATA_SOURCE = "unknown"
"""SkyRL's name for rows that have none, as VisGym's."""

_END, _ANSWER = "<|im_end|>", "\n<|im_start|>assistant\n"
_PICTURE = "<|vision_start|>" + "<|image_pad|>" * VISUAL_TOKENS + "<|vision_end|>"


@dataclass(frozen=True, slots=True)
class Played:
    """One finished episode; `prompt` and `response` are the conversation in the chat template."""

    seed: int
    prompt: str
    response: str
    turns: int
    reward: float
    parse_failures: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All episodes, in the set's order, and their metrics by SkyRL's keys."""

    played: tuple[Played, ...]
    values: metrics.Values

    @property
    def solved(self) -> int:
        """Episodes with a stop on the target. The keyword dialect pays for nothing else."""
        return sum(each.reward > 0 for each in self.played)


class Evaluator:
    """Plays one evaluation set again and again."""

    def __init__(self, chosen: EvalSet) -> None:
        self.eval_set = chosen
        self._pictures: dict[str, Floats] = {}

    def evaluate(self, policy: Policy) -> Evaluation:
        """Plays all mazes side by side with the likeliest answers."""
        chosen = self.eval_set
        episodes = [
            Episode(chosen.env_id, seed, max_turns=chosen.max_turns, dialect=chosen.dialect)
            for seed in chosen.seeds
        ]
        rewards = dict.fromkeys(chosen.seeds, 0.0)
        while playing := [episode for episode in episodes if not episode.done]:
            pictures = np.stack([self._picture(episode) for episode in playing])
            for episode, answer in zip(playing, policy.log_probs(pictures).argmax(1), strict=True):
                result = episode.turn(TEXTS[answer])
                rewards[_seed(episode)] += result.reward
        played = tuple(_played(each, rewards[_seed(each)]) for each in episodes)
        return Evaluation(played, _values(played))

    def dump(self, evaluation: Evaluation, folder: Path) -> Path:
        """Writes SkyRL's two files into `folder` (`global_step_N_evals`); the aggregate's path."""
        rows = "".join(json.dumps(self._row(played)) + "\n" for played in evaluation.played)
        with files.whole_folder(folder) as unfinished:
            files.write_synced(unfinished / f"{DATA_SOURCE}.jsonl", rows.encode())
            aggregate = json.dumps(evaluation.values) + "\n"
            files.write_synced(unfinished / "aggregated_results.jsonl", aggregate.encode())
        return folder / "aggregated_results.jsonl"

    def _picture(self, episode: Episode) -> Floats:
        """The policy's input, from the picture of the conversation's last message."""
        uri: str = episode.messages[-1]["content"][1]["image_url"]["url"]
        if uri not in self._pictures:
            self._pictures[uri] = pixels.from_data_uri(uri)
        return self._pictures[uri]

    def _row(self, played: Played) -> dict[str, object]:
        return {
            "input_prompt": played.prompt,
            "output_response": played.response,
            "score": metrics.token_rewards(played.turns, played.reward),
            "stop_reason": "stop",
            "env_class": "visgym",
            "env_extras": {
                "visgym_env_id": self.eval_set.env_id,
                "seed": played.seed,
                "max_turns": self.eval_set.max_turns,
            },
            "data_source": DATA_SOURCE,
        }


def _seed(episode: Episode) -> int:
    assert episode.seed is not None
    return episode.seed


def _played(episode: Episode, reward: float) -> Played:
    first, *rest = episode.messages
    response = "".join(
        f"{message['content']}{_END}"
        if message["role"] == "assistant"
        else f"\n{_user_turn(message['content'][0]['text'])}"
        for message in rest
    )
    prompt = _user_turn(first["content"][0]["text"])
    failures = episode.parse_failures
    return Played(_seed(episode), prompt, response, episode.turns, reward, failures)


def _user_turn(text: str) -> str:
    return f"<|im_start|>user\n{text}{_PICTURE}{_END}{_ANSWER}"


def _values(played: tuple[Played, ...]) -> metrics.Values:
    scores = score([each.reward for each in played], [each.seed for each in played])
    named = metrics.score_values(scores, samples=1)
    turns = np.array([each.turns for each in played])
    failures = float(np.mean([each.parse_failures for each in played]))
    return {
        **metrics.prefixed(f"eval/{DATA_SOURCE}", named),
        **metrics.prefixed("eval/all", named),
        **metrics.prefixed(
            "eval/all",
            metrics.generation(turns, np.array([each.reward for each in played], np.float32)),
        ),
        "eval/all/environment/avg_parse_failures": failures,
    }
