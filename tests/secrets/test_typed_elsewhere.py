"""A secret's value that was typed into another text is refused, and masked in the audit log."""

import pytest
from sqlalchemy import select

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.db import Database
from app.errors import Invalid
from app.models import AuditEntry
from app.outgoing import service as outgoing
from app.projects import service as projects
from app.secrets import service
from tests.factories import ADA

VALUE = "hf_Zx81kkLmPq"


async def test_names_and_reasons_hold_no_values(vaulted: Database) -> None:
    async with vaulted.write() as session:
        project = await projects.ensure_default(session)
        await service.put(session, project.id, "HF_TOKEN", VALUE, actor=ADA)
    typed = f"for {VALUE}"
    async with vaulted.write() as session:
        project = await projects.ensure_default(session)
        for act in (
            projects.create(session, name=typed, actor=ADA),
            projects.rename(session, project, typed, actor=ADA),
            outgoing.allow(session, ADA, host="example.org", reason=typed),
        ):
            with pytest.raises(Invalid, match="value of secret HF_TOKEN") as caught:
                await act
            assert VALUE not in str(caught.value.problems)


async def test_the_audit_log_masks_what_it_is_told(vaulted: Database) -> None:
    async with vaulted.write() as session:
        await service.put(session, None, "HF_TOKEN", VALUE, actor=ADA)
        details = {"path": f"/x/{VALUE}", "more": [VALUE]}
        target = Target("run", VALUE)
        actor = Actor("ada", "user:ada")
        audit.record(session, actor, Action.TOKEN_CREATE, target, details=details)
    async with vaulted.read() as session:
        query = select(AuditEntry).where(AuditEntry.action == Action.TOKEN_CREATE.value)
        entry = (await session.scalars(query)).one()
    assert entry.object_slug == "***HF_TOKEN***"
    assert entry.details == {"path": "/x/***HF_TOKEN***", "more": ["***HF_TOKEN***"]}
