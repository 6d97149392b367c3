"""From the policy's log-probabilities to an answer of four tokens: tag, word, tag, end.

The word is the only choice. At temperature 0 it is the trainer's: the likeliest.
"""

from dataclasses import dataclass

import numpy as np

from worker.jobs.maze_grpo.answers import TEXTS, WORDS
from worker.jobs.maze_grpo.model import log_softmax
from worker.jobs.maze_grpo.vectors import Floats
from worker.serving.requests import ChatRequest

_END = "<|im_end|>"
# vLLM's: what is colder counts as greedy.
_GREEDY_BELOW = 1e-5
_SEED_MASK = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is what it adds to the answer, `name` what log-probabilities call it.

    `others` are the likeliest tokens at its place with their log-probabilities, best first.
    """

    name: str
    text: str
    log_prob: float
    others: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """`stop_reason` is the text that ended it, if one did."""

    tokens: tuple[Token, ...]
    finish_reason: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        return "".join(token.text for token in self.tokens)


def answer(log_probs: Floats, request: ChatRequest) -> Answer:
    """Draws an answer as `request` asks; `log_probs` (5,) are natural logarithms."""
    word = _draw(log_probs, request)
    whole = _tokens(word, log_probs)
    tokens = whole[: request.token_limit]
    for stop in request.stops:
        cut = _cut(tokens, stop, keeps_stop=request.include_stop_str_in_output)
        if cut is not None:
            return Answer(cut, "stop", stop)
    return Answer(tokens, "stop" if len(tokens) == len(whole) else "length")


def _draw(log_probs: Floats, request: ChatRequest) -> int:
    """The word's index. Gumbel-max: the largest log-probability plus noise is a sample."""
    if request.temperature < _GREEDY_BELOW:
        return int(log_probs.argmax())
    seed = None if request.seed is None else request.seed & _SEED_MASK
    noise = np.random.default_rng(seed).gumbel(size=log_probs.shape).astype(np.float32)
    scores = log_softmax(log_probs / np.float32(request.temperature))
    return int(np.where(_allowed(scores, request), scores + noise, -np.inf).argmax())


def _allowed(
    scores: Floats, request: ChatRequest
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """The words that top-k, top-p and min-p leave, as vLLM applies them."""
    order = scores.argsort()[::-1]
    shares = np.exp(scores[order])
    before = np.cumsum(shares) - shares
    kept = (before < request.top_p) & (shares >= request.min_p * shares[0])
    if request.top_k > 0:
        kept &= np.arange(len(order)) < request.top_k
    kept[0] = True
    allowed = np.zeros(len(order), bool)
    allowed[order[kept]] = True
    return allowed


def _tokens(word: int, log_probs: Floats) -> tuple[Token, ...]:
    opening, name, closing = TEXTS[word].partition(WORDS[word])
    order = log_probs.argsort()[::-1]
    others = tuple((WORDS[each], float(log_probs[each])) for each in order)
    return (
        _certain(opening),
        Token(name, name, float(log_probs[word]), others),
        _certain(closing),
        Token(_END, "", 0.0, ((_END, 0.0),)),
    )


def _certain(text: str) -> Token:
    return Token(text, text, 0.0, ((text, 0.0),))


def _cut(tokens: tuple[Token, ...], stop: str, *, keeps_stop: bool) -> tuple[Token, ...] | None:
    """The tokens up to the one with which `stop` is complete; None if it is not there."""
    place = "".join(token.text for token in tokens).find(stop)
    if place < 0:
        return None
    rest = place + len(stop)
    shown = rest if keeps_stop else place
    kept: list[Token] = []
    for token in tokens:
        if rest <= 0:
            break
        kept.append(Token(token.name, token.text[: max(shown, 0)], token.log_prob, token.others))
        rest -= len(token.text)
        shown -= len(token.text)
    return tuple(kept)
