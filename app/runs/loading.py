"""What several pages about runs read first."""

from app.access.permissions import Permission
from app.clusters import service as clusters
from app.db import ReadSession
from app.models import Run
from app.runs import queue, service, views
from app.runs.contexts import RunHead
from app.runs.queue import ClusterLoad
from app.web.cluster_line import ClusterLine, cluster_line, load_of
from app.web.deps import Viewer


async def load_head(
    session: ReadSession, slug: str, viewer: Viewer, *, tab: str = ""
) -> tuple[Run, RunHead]:
    """A run and the top of its pages, with what the viewer may do. Raises `NotFound`."""
    run = await service.get(session, slug)
    load = load_of(run, await queue.loads(session))
    step = await pushed_step(session, run)
    can_write = viewer.may(Permission.WRITE, run.project_id)
    return run, views.run_head(run, load=load, tab=tab, pushed_step=step, can_write=can_write)


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
