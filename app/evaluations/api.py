"""JSON API of eval sets."""

from app.api.deps import Reader
from app.api.schemas import Listing
from app.evaluations.schemas import EvalSetAnswer
from app.maze.eval_sets import EVAL_SETS
from app.routing import Router

router = Router(tags=["evaluations"])


@router.get("/eval-sets")
async def list_eval_sets(_caller: Reader) -> Listing[EvalSetAnswer]:
    """All eval sets: environment, mazes, turn limit, and how many can be solved within it."""
    return Listing(items=[EvalSetAnswer.model_validate(each) for each in EVAL_SETS.values()])
