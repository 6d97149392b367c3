"""`Lane`: one play of a maze by a model or a person, as a state machine.

One implementation for playground, evaluations and rollouts of training. It knows no clock, no
database and no network: `driver.py` asks models, `service.py` keeps what was answered. The
conversation is SkyRL's (`app.maze.episode`); a lane is rebuilt from its task and its answers.

    asking ──take, force──▶ asking … over
       │ fail                        ▲ stop, give_up (from anywhere)
       ▼                             │
    failed ──retry──▶ asking         │
       └─────────────────────────────┘
"""

from collections.abc import Iterable
from dataclasses import dataclass

from app.episodes.outcomes import classify, effect_of
from app.episodes.states import Effect, LaneStatus, Outcome, Source
from app.llm.chat import Completion, ModelError, ModelErrorKind
from app.maze.episode import Episode, Message
from app.maze.generate import Cell, Maze
from app.maze.parse import KEYWORDS, Dialect, spell

MAX_INPUT_TOKENS = 8192
"""SkyRL's `generator.max_input_length` in the VisGym recipes: longer prompts are not sent."""

MAX_CHARACTERS = 1_000_000
"""Of a lane's answers. No honest model comes near it, but a server need not count its tokens, and
each look at the episode reads them all."""


class LaneNotAsking(RuntimeError):
    """The lane awaits no answer now: it failed and was not retried, or it is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is played. With its answers this is all that a conversation is rebuilt from.

    `max_input_tokens` None sets no limit beyond the model's own.
    """

    env_id: str
    seed: int
    max_turns: int
    dialect: Dialect = Dialect.TUPLE
    max_input_tokens: int | None = MAX_INPUT_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer as it came. Tokens and times are None where nobody told, or a person answered."""

    text: str
    source: Source = Source.MODEL
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_seconds: float | None = None
    first_token_seconds: float | None = None

    @classmethod
    def of(cls, completion: Completion) -> "Answer":
        return cls(
            text=completion.text,
            finish_reason=completion.finish_reason,
            prompt_tokens=completion.usage.prompt_tokens,
            completion_tokens=completion.usage.completion_tokens,
            latency_seconds=completion.latency_seconds,
            first_token_seconds=completion.first_token_seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """An answer and what it did. `action` is the text given to the maze, None if none was found.

    `cell_before` and `cell` are where the agent stood. `reward` is 0.0 until the last turn.
    """

    number: int
    answer: Answer
    action: str | None
    effect: Effect
    feedback: str
    reward: float
    is_last: bool
    cell_before: Cell
    cell: Cell

    @property
    def is_parsed(self) -> bool:
        return self.action is not None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the endpoint gave no answer, for people; `is_retryable`: it may pass by itself."""

    kind: ModelErrorKind
    message: str
    is_retryable: bool = False


class Lane:
    """One play. Not safe to share between threads.

    `turns` are the answers so far, `failure` says why the last try gave none, `outcome` is None
    until the lane is over.
    """

    def __init__(
        self, task: Task, *, max_model_len: int | None = None, has_pictures: bool = True
    ) -> None:
        """`max_model_len` is the model's window in tokens, if it is known.

        Without pictures nothing can be requested: enough to look at what was played. Raises
        `ValueError` for a task that cannot be played.
        """
        self.task = task
        self.max_model_len = max_model_len
        self.status = LaneStatus.ASKING
        self.outcome: Outcome | None = None
        self.failure: Failure | None = None
        self.turns: list[TurnRecord] = []
        self._has_pictures = has_pictures
        self._episode = Episode(
            task.env_id,
            task.seed,
            max_turns=task.max_turns,
            dialect=task.dialect,
            has_pictures=has_pictures,
        )
        self._used_tokens = 0
        self._characters = 0

    @classmethod
    def restore(
        cls,
        task: Task,
        answers: Iterable[Answer],
        *,
        max_model_len: int | None = None,
        has_pictures: bool = True,
        outcome: Outcome | None = None,
        failure: Failure | None = None,
    ) -> "Lane":
        """The lane as it stood after these answers; those after its end are left out.

        `outcome` and `failure` are those it had, which answers alone do not tell.
        """
        lane = cls(task, max_model_len=max_model_len, has_pictures=has_pictures)
        for answer in answers:
            if lane.is_over:
                break
            lane.take_answer(answer)
        if outcome is not None and not lane.is_over:
            lane._end(outcome)
        elif failure is not None and not lane.is_over:
            lane.status = LaneStatus.FAILED
        lane.failure = failure or lane.failure
        return lane

    @property
    def is_over(self) -> bool:
        return self.status is LaneStatus.OVER

    @property
    def is_solved(self) -> bool:
        return self.outcome is Outcome.SOLVED

    @property
    def reward(self) -> float:
        """SkyRL's reward of the episode; 0.0 until it ended by itself."""
        return self.turns[-1].reward if self.turns else 0.0

    @property
    def is_passed(self) -> bool:
        """SkyRL's notion behind pass_at_1: a reward above zero, which format alone can earn."""
        return self.reward > 0

    @property
    def maze(self) -> Maze:
        return self._episode.env.maze

    @property
    def agent(self) -> Cell:
        return self._episode.env.agent

    @property
    def cells(self) -> list[Cell]:
        """Where the agent stood: at the start and after each turn."""
        return [self.maze.start, *(turn.cell for turn in self.turns)]

    @property
    def messages(self) -> list[Message]:
        """The whole conversation so far, pictures included."""
        return list(self._episode.messages)

    def messages_of(self, turn: int) -> list[Message]:
        """The exact messages that turn `turn` was asked with: the first `2 * turn - 1`."""
        return self._episode.messages[: 2 * turn - 1]

    def picture(self) -> bytes:
        """The maze as it is now, as the model sees it: a PNG file."""
        return self._episode.env.png()

    def request(self) -> list[Message]:
        """The messages to send for the next answer. Raises `LaneNotAsking`."""
        if self.status is not LaneStatus.ASKING or not self._has_pictures:
            raise LaneNotAsking(f"the lane is {self.status}")
        return self.messages

    def take(self, completion: Completion) -> TurnRecord | None:
        """Takes the model's answer to `request()`.

        None if the prompt turns out to be longer than the task's limit: SkyRL does not send such
        a one, so the lane ends there and the answer does not count.
        """
        used, limit = completion.usage.prompt_tokens, self.task.max_input_tokens
        if used is not None and limit is not None and used > limit:
            self._require_open()
            self._end_at_context(f"The conversation has {used:,} tokens; {limit:,} are the limit.")
            return None
        return self.take_answer(Answer.of(completion))

    def take_answer(self, answer: Answer) -> TurnRecord:
        """Takes an answer, whoever gave it. Raises `LaneNotAsking` once the lane is over."""
        self._require_open()
        before = self.agent
        result = self._episode.turn(answer.text)
        turn = TurnRecord(
            number=result.number,
            answer=answer,
            action=result.action,
            effect=effect_of(result.action, result.feedback, is_terminated=result.terminated),
            feedback=result.feedback,
            reward=result.reward,
            is_last=result.done,
            cell_before=before,
            cell=self.agent,
        )
        self.turns.append(turn)
        self.status, self.failure = LaneStatus.ASKING, None
        if result.done:
            self._end(self._classified())
        else:
            self._watch_context(answer)
        return turn

    def force(self, action: str) -> TurnRecord:
        """A person's move: a keyword of `KEYWORDS` or the text of its action.

        It goes into the conversation as the shortest answer that says it. Raises `ValueError` for
        another text, `LaneNotAsking` once the lane is over.
        """
        return self.take_answer(persons_move(action, self.task.dialect))

    def fail(self, error: ModelError) -> None:
        """The endpoint gave no answer: the lane waits for `retry()`, with all turns kept.

        A conversation that is too long for the model is not retried: the lane is over.
        """
        self._require_open()
        if error.kind is ModelErrorKind.CONTEXT_OVERFLOW:
            self._end_at_context(error.message)
            return
        self.status = LaneStatus.FAILED
        self.failure = Failure(error.kind, error.message, error.is_retryable)

    def retry(self) -> None:
        """Asks again for the turn that failed."""
        self._require_open()
        self.status, self.failure = LaneStatus.ASKING, None

    def give_up(self) -> None:
        """Ends a failed lane: nobody tries again."""
        self._require_open()
        self._end(Outcome.ENDPOINT_ERROR)

    def stop(self) -> None:
        """Ends the lane because a person wants so. Again, or later: changes nothing."""
        if not self.is_over:
            self._end(Outcome.STOPPED)

    def branch(self, turn: int) -> "Lane":
        """A new lane with the first `turn` answers. Raises `ValueError` if there are fewer."""
        if not 0 <= turn <= len(self.turns):
            raise ValueError(f"there are {len(self.turns)} turns, not {turn}")
        answers = [each.answer for each in self.turns[:turn]]
        return Lane.restore(
            self.task, answers, max_model_len=self.max_model_len, has_pictures=self._has_pictures
        )

    def _require_open(self) -> None:
        if self.is_over:
            raise LaneNotAsking(f"the lane ended after {len(self.turns)} turns: {self.outcome}")

    def _classified(self) -> Outcome:
        effects = [turn.effect for turn in self.turns]
        return classify(effects, self.cells, target=self.maze.target)

    def _watch_context(self, answer: Answer) -> None:
        """Ends the lane if the next prompt is too long for certain: it begins with this one."""
        self._characters += len(answer.text)
        if self._characters > MAX_CHARACTERS:
            self._end_at_context(
                f"The answers have {self._characters:,} characters; "
                f"{MAX_CHARACTERS:,} are the limit."
            )
            return
        # Nobody counts a person's tokens, nor does every server: then the last count stays.
        if answer.prompt_tokens is not None:
            self._used_tokens = answer.prompt_tokens + (answer.completion_tokens or 0)
        window = None if self.max_model_len is None else self.max_model_len - 1
        limits = [each for each in (self.task.max_input_tokens, window) if each is not None]
        if limits and self._used_tokens > min(limits):
            self._end_at_context(
                f"The conversation has over {self._used_tokens:,} tokens; "
                f"{min(limits):,} are the limit."
            )

    def _end_at_context(self, message: str) -> None:
        self._end(Outcome.CONTEXT_LIMIT)
        self.failure = Failure(ModelErrorKind.CONTEXT_OVERFLOW, message)

    def _end(self, outcome: Outcome) -> None:
        self.status, self.outcome = LaneStatus.OVER, outcome


def persons_move(action: str, dialect: Dialect) -> Answer:
    """The answer that a person's move becomes. Raises `ValueError` for what is no move."""
    keyword = _KEYWORD_OF.get(action.strip(), action.strip().lower())
    if keyword not in KEYWORDS:
        raise ValueError(f"a move is one of {', '.join(KEYWORDS)}")
    return Answer(text=spell(keyword, dialect), source=Source.PERSON)


_KEYWORD_OF = {text: keyword for keyword, text in KEYWORDS.items()}
