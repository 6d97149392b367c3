"""What several pages about runs read first."""

from datetime import timedelta

from app.access.permissions import Permission
from app.adapters import service as adapters
from app.checkpoints import service as checkpoints
from app.clock import utcnow
from app.clusters import service as clusters
from app.db import ReadSession
from app.models import Checkpoint, Run
from app.runs import queue, service, views
from app.runs.contexts import RunHead
from app.runs.queue import ClusterLoad
from app.runs.states import ENDED
from app.web.cluster_line import ClusterLine, cluster_line, load_of
from app.web.deps import Viewer

_SETTLES = timedelta(seconds=30)


async def load_head(
    session: ReadSession, slug: str, viewer: Viewer, *, tab: str = ""
) -> tuple[Run, RunHead]:
    """A run and the top of its pages, with what the viewer may do. Raises `NotFound`."""
    run = await service.get(session, slug)
    load = load_of(run, await queue.loads(session))
    step = await pushed_step(session, run)
    can_write = viewer.may(Permission.WRITE, run.project_id)
    promotable = await _promotable(session, run) if can_write else None
    head = views.run_head(
        run,
        load=load,
        tab=tab,
        pushed_step=step,
        can_write=can_write,
        promotable=promotable,
        is_settling=promotable is None and can_write and _is_settling(run),
    )
    return run, head


async def pushed_step(session: ReadSession, run: Run) -> int | None:
    """The newest step of the points of a run fed from outside; None for the runs of a worker."""
    return (await service.pushed_steps(session, [run])).get(run.id)


async def embedded_line(session: ReadSession) -> ClusterLine | None:
    """The cluster that runs go to unless told otherwise; None before the worker made its row."""
    loads = await queue.loads(session)
    for cluster in await clusters.list_all(session):
        if cluster.slug == clusters.EMBEDDED:
            return cluster_line(cluster, loads.get(cluster.id, ClusterLoad()))
    return None


async def _promotable(session: ReadSession, run: Run) -> Checkpoint | None:
    """The best adapter of a run that has ended and of which none was promoted yet."""
    if run.status not in ENDED or run.deleted_at is not None:
        return None
    best = await checkpoints.find_best_exportable(session, run)
    if best is None or await adapters.list_of_run(session, run):
        return None
    return best


def _is_settling(run: Run) -> bool:
    """A worker may look at a run's last export only after its end was told."""
    return run.ended_at is not None and utcnow() - run.ended_at < _SETTLES
