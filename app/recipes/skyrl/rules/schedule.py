"""How many steps an epoch and a run have."""

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.view import Unfit, View


def steps_per_epoch(at: View, context: Context) -> int:
    """Whole batches in the training rows (SkyRL drops the last, short one).

    Raises `Unfit` if the rows are not known or do not fill one batch.
    """
    batch = at.whole(k.TRAIN)
    if context.train is None or batch <= 0 or context.train.rows < batch:
        raise Unfit(k.TRAIN)
    return context.train.rows // batch


def total_steps(at: View, context: Context) -> int:
    """Steps of the run. Raises `Unfit` if they are not known."""
    steps = steps_per_epoch(at, context) * at.whole(k.EPOCHS)
    limit = at.get("trainer.max_training_steps")
    return min(steps, limit) if isinstance(limit, int) else steps
