"""Requests about many runs: whether they may be read, and whether anything was logged to them.

Open charts ask every few seconds about up to a hundred runs: one query answers both.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from app.access import service as access
from app.access.guard import Guard
from app.access.permissions import Permission
from app.access.principal import Principal
from app.access.service import ObjectKind
from app.api.deps import ApiGuard
from app.db import ReadSession
from app.runs import briefs
from app.web.deps import PageGuard, Viewer


@dataclass(frozen=True, slots=True)
class AskedRuns:
    """The runs that an address names, once each and in its order.

    `revision` differs if anything was logged to any of them.
    """

    slugs: list[str]
    revision: int


@dataclass(frozen=True, slots=True)
class _OfRuns(Guard):
    """Keeps what it saw of the runs with the request, for `asked_runs`."""

    async def check(self, request: Request, session: ReadSession, principal: Principal) -> None:
        """As `Guard.check`."""
        slugs = list(dict.fromkeys(self.slugs(request)))
        found = await briefs.list_revisions(session, slugs) if slugs else []
        is_whole = sum(each.runs for each in found) == len(slugs)
        may_read = all(principal.allows(self.permission, each.project_id) for each in found)
        if not (slugs and is_whole and may_read):
            # Which of them it is that is missing or hidden.
            await access.check(session, principal, self.permission, kind=self.kind, slugs=slugs)
        # Revisions only grow: where their sum is the same, each of them is.
        request.state.asked_runs = AskedRuns(slugs, sum(each.total for each in found))


@dataclass(frozen=True, slots=True)
class _LogGuard(ApiGuard):
    """A writer's guard that also lets a job log to its run, and to no other."""

    async def check(self, request: Request, session: ReadSession, principal: Principal) -> None:
        """As `Guard.check`."""
        if principal.only_run is not None:
            runs = await briefs.get_briefs(session, self.slugs(request))
            if [run.id for run in runs] == [principal.only_run.run_id]:
                return
        await ApiGuard.check(self, request, session, principal)


@dataclass(frozen=True, slots=True)
class _ApiGuard(_OfRuns, ApiGuard):
    pass


@dataclass(frozen=True, slots=True)
class _PageGuard(_OfRuns, PageGuard):
    pass


async def asked_runs(request: Request) -> AskedRuns:
    """What one of the readers below, which must come first, has seen."""
    asked: AskedRuns = request.state.asked_runs
    return asked


ApiReader = Annotated[Principal, Depends(_ApiGuard(Permission.READ, ObjectKind.RUN))]
RunLogger = Annotated[Principal, Depends(_LogGuard(Permission.WRITE, ObjectKind.RUN))]
PageReader = Annotated[Viewer, Depends(_PageGuard(Permission.READ, ObjectKind.RUN))]
Asked = Annotated[AskedRuns, Depends(asked_runs)]
