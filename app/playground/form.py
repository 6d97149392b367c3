"""The form of a new episode: read as typed, into an episode that may be made."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from secrets import randbelow

from app.episodes.service import MAX_LANES, MAX_SEED, MAX_TURNS, EpisodeSpec, LaneSpec, sampling_of
from app.llm.chat import Sampling
from app.maze.eval_sets import EvalSet
from app.maze.generate import MAX_SIZE, MIN_SIZE
from app.maze.parse import Dialect
from app.models import Episode
from app.recipes.numbers import find_number, find_whole_number

PERSON, NOBODY = "you", ""
LANES = [f"lane-{number}" for number in range(1, MAX_LANES + 1)]
ENV, HEIGHT, WIDTH, SEED, EVAL_SET, ITEM = "env_id", "height", "width", "seed", "eval_set", "item"
TURNS, DIALECT, PROJECT = "max_turns", "dialect", "project"
CUSTOM = "custom"
ENVIRONMENTS = {"maze_2d/easy": "Easy, 9 × 9", "maze_2d/hard": "Hard, 11 × 11", CUSTOM: "Custom"}
_SEEDS = 10_000
_USUAL = Sampling()
_MAX_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the sampling, and where it may lie."""

    name: str
    label: str
    low: float
    high: float
    is_whole: bool = False
    help: str = ""

    @property
    def usual(self) -> str:
        value = getattr(_USUAL, self.name)
        return "" if value is None else as_typed(value)

    def read(self, text: str) -> float | int | None:
        """None for what was left empty. Raises `ValueError` for what cannot be."""
        if not text.strip():
            return None
        value = find_whole_number(text) if self.is_whole else find_number(text)
        if value is None or not self.low <= value <= self.high:
            kind = "a whole number" if self.is_whole else "a number"
            raise ValueError(
                f"{self.label} is {kind} from {as_typed(self.low)} to {as_typed(self.high)}"
            )
        return value


def as_typed(value: float) -> str:
    """As a person types it, with all digits: 1234567, 0.25, 1."""
    return str(int(value)) if value == int(value) else f"{value:.15f}".rstrip("0")


SAMPLING = (
    Number("temperature", "Temperature", 0, 2, help="0 always takes the likeliest token."),
    Number("max_tokens", "Tokens an answer, at most", 1, _MAX_TOKENS, is_whole=True),
    Number("top_p", "Top p", 0.000001, 1),
    Number("top_k", "Top k", -1, 2**31 - 1, is_whole=True, help="-1 is off."),
    Number("min_p", "Min p", 0, 1, help="0 is off."),
    Number("sampling_seed", "Sampling seed", 0, 2**31 - 1, is_whole=True),
)
SAMPLING_SEED = SAMPLING[-1].name


@dataclass(frozen=True, slots=True)
class Draft:
    """The form's values as typed."""

    values: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        # No database can be asked for a text with a NUL.
        return self.values.get(name, _DEFAULTS.get(name, "")).replace("\0", "\ufffd")


_DEFAULTS = {
    ENV: "maze_2d/easy",
    HEIGHT: "15",
    WIDTH: "15",
    TURNS: "15",
    DIALECT: Dialect.KEYWORD.value,
    ITEM: "1",
} | {each.name: each.usual for each in SAMPLING if each.name != SAMPLING_SEED}


def again(episode: Episode) -> Draft:
    """The form as it was for this episode; needs its lanes and project."""
    values = {
        SEED: str(episode.seed),
        TURNS: str(episode.max_turns),
        DIALECT: episode.dialect,
        PROJECT: episode.project.slug,
        **environment(episode.env_id),
    }
    for lane in episode.lanes:
        is_person = lane.endpoint is None
        values[LANES[lane.number - 1]] = PERSON if is_person else f"{lane.endpoint} {lane.model}"
    sampling = sampling_of(episode.sampling)
    for each in SAMPLING:
        value = sampling.seed if each.name == SAMPLING_SEED else getattr(sampling, each.name)
        values[each.name] = "" if value is None else as_typed(value)
    return Draft(values)


def environment(env_id: str) -> dict[str, str]:
    """The fields that choose an environment, such as `maze_2d/easy` or `maze_2d/15x21`."""
    if env_id in ENVIRONMENTS:
        return {ENV: env_id}
    height, _, width = env_id.removeprefix("maze_2d/").partition("x")
    return {ENV: CUSTOM, HEIGHT: height, WIDTH: width}


def read(draft: Draft, chosen: EvalSet | None = None) -> tuple[EpisodeSpec | None, dict[str, str]]:
    """The episode that the form asks for, or what is wrong, by field.

    `chosen` is the eval set that it names.
    """
    problems: dict[str, str] = {}
    lanes = [_lane(draft.text(name)) for name in LANES if draft.text(name) != NOBODY]
    if not lanes:
        problems[LANES[0]] = "choose who plays, at least in one lane"
    sampling = _sampling(draft, problems)
    spec = EpisodeSpec(
        lanes=lanes,
        env_id=_environment(draft, problems) if not draft.text(EVAL_SET) else "maze_2d/easy",
        seed=_seed(draft, problems) if not draft.text(EVAL_SET) else 0,
        max_turns=_within(draft, TURNS, "Turn limit", 1, MAX_TURNS, problems),
        dialect=_dialect(draft, problems),
        sampling=sampling,
    )
    if draft.text(EVAL_SET):
        spec = _item(draft, spec, chosen, problems)
    return (None if problems else spec), problems


def _lane(text: str) -> LaneSpec:
    endpoint, _, model = text.partition(" ")
    return LaneSpec() if text == PERSON else LaneSpec(endpoint, model)


def _environment(draft: Draft, problems: dict[str, str]) -> str:
    env_id = draft.text(ENV)
    if env_id not in ENVIRONMENTS:
        problems[ENV] = "choose one of the environments"
        return ""
    if env_id != CUSTOM:
        return env_id
    sizes = [_size(draft, name, label, problems) for name, label in _SIZES]
    return f"maze_2d/{sizes[0]}x{sizes[1]}"


_SIZES = ((HEIGHT, "Height"), (WIDTH, "Width"))


def _size(draft: Draft, name: str, label: str, problems: dict[str, str]) -> int:
    value = find_whole_number(draft.text(name))
    if value is None or value % 2 == 0 or not MIN_SIZE <= value <= MAX_SIZE:
        problems[name] = f"{label} is an odd number from {MIN_SIZE} to {MAX_SIZE}"
    return value or 0


def _seed(draft: Draft, problems: dict[str, str]) -> int:
    if not draft.text(SEED).strip():
        return randbelow(_SEEDS)
    return _within(draft, SEED, "Seed", 0, MAX_SEED, problems)


def _within(
    draft: Draft, name: str, label: str, low: int, high: int, problems: dict[str, str]
) -> int:
    value = find_whole_number(draft.text(name))
    if value is None or not low <= value <= high:
        problems[name] = f"{label} is a whole number from {low} to {high}"
        return low
    return value


def _dialect(draft: Draft, problems: dict[str, str]) -> Dialect:
    try:
        return Dialect(draft.text(DIALECT))
    except ValueError:
        problems[DIALECT] = "choose one of the dialects"
        return Dialect.KEYWORD


def _item(
    draft: Draft, spec: EpisodeSpec, chosen: EvalSet | None, problems: dict[str, str]
) -> EpisodeSpec:
    """An item brings its set's environment, turn limit and dialect, and its own seed."""
    if chosen is None:
        problems[EVAL_SET] = "choose one of the eval sets"
        return spec
    problems.pop(TURNS, None)
    problems.pop(DIALECT, None)
    number = _within(draft, ITEM, "Item", 1, len(chosen.seeds), problems)
    return replace(
        spec,
        env_id=chosen.env_id,
        seed=chosen.seeds[number - 1],
        max_turns=chosen.max_turns,
        dialect=chosen.dialect,
    )


def _sampling(draft: Draft, problems: dict[str, str]) -> Sampling:
    values: dict[str, float | int | None] = {}
    for each in SAMPLING:
        try:
            value = each.read(draft.text(each.name))
        except ValueError as error:
            problems[each.name] = str(error)
            continue
        if value is not None:
            values["seed" if each.name == SAMPLING_SEED else each.name] = value
    return sampling_of(values)


def find_number_of(values: Mapping[str, str], name: str) -> int | None:
    """A whole number of a plain form, None if there is none."""
    return find_whole_number(values.get(name, ""))
