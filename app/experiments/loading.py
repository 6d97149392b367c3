"""What several pages about experiments read first."""

from app.db import ReadSession
from app.experiments import service, views
from app.experiments.contexts import ExperimentHead
from app.models import Experiment
from app.runs import service as runs
from app.web.deps import Viewer


async def load_head(
    session: ReadSession, slug: str, viewer: Viewer, *, tab: str = ""
) -> tuple[Experiment, ExperimentHead]:
    """An experiment and the top of its pages, with what the viewer may do. Raises `NotFound`."""
    experiment = await service.get(session, slug)
    config = await service.newest_config(session, experiment)
    counts = await runs.count_by_experiment(session, [experiment])
    count = counts.get(experiment.id, 0)
    return experiment, views.experiment_head(experiment, config, count, viewer, tab=tab)
