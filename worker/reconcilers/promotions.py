"""Copies adapters to their destinations: looked at first, the weights next, the config last.

What is copied is settled in one turn and copied in the next: every try, by whichever worker, copies
the same bytes or nothing. A turn may be killed at any instruction and repeated.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.orm import joinedload

from app.adapters import faults
from app.adapters.destinations import Destination
from app.adapters.faults import Failure, PromotionFault
from app.checkpoints.exports import CONFIG, WEIGHTS, BadExport, Export, look_at
from app.checkpoints.folders import inside
from app.db import Database, ReadSession, WriteSession
from app.endpoints import service as endpoints
from app.models import Adapter, AdapterStatus, Promotion, PromotionStatus
from app.secrets import service as secrets
from app.secrets.masking import Masker
from app.storage.adapter_store import (
    AdapterStore,
    FileFacts,
    NameTaken,
    SourceChanged,
    StorageError,
    StorageFull,
)
from app.storage.inside import open_file, open_folder
from worker.reconciler import Reconciler

MAX_TRIES = 6
# The weights, then what makes them an adapter.
_ORDER = (WEIGHTS, CONFIG)


@dataclass(frozen=True, slots=True)
class Place:
    """A destination and what stores files there."""

    destination: Destination
    store: AdapterStore


@dataclass(frozen=True, slots=True)
class Subject:
    """What is to be copied. `files` is empty until it was looked at. `source` None: elsewhere."""

    promotion_id: UUID
    name: str
    destination: str
    run_folder: Path
    source: str | None
    files: tuple[FileFacts, ...]
    is_deleted: bool
    masker: Masker
    """What a job writes into its files may hold its secrets."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a turn came to: looked at, copied (all of it), moved aside, or failed."""

    export: Export | None = None
    files: tuple[FileFacts, ...] = ()
    is_copied: bool = False
    failure: Failure | None = None


class PromotionsReconciler(Reconciler[Subject, Result]):
    """Reconciles promotions. `places` by the name of their destination."""

    model = Promotion

    def __init__(
        self,
        database: Database,
        places: Mapping[str, Place],
        *,
        runs_dir: Path,
        tell_every: float = 0.5,
    ) -> None:
        self._database = database
        self._places = places
        self._runs_dir = runs_dir
        self._tell_every = tell_every

    async def load(self, session: ReadSession, row_id: UUID) -> Subject:
        adapter = joinedload(Promotion.adapter, innerjoin=True)
        row = await session.get_one(
            Promotion,
            row_id,
            options=[
                adapter.joinedload(Adapter.run, innerjoin=True),
                adapter.joinedload(Adapter.checkpoint, innerjoin=True),
            ],
        )
        folder = self._runs_dir / row.adapter.run.slug
        source = inside(folder, row.adapter.checkpoint.path)
        return Subject(
            promotion_id=row.id,
            name=row.adapter.name,
            destination=row.adapter.destination,
            run_folder=folder,
            source=str(source) if source else None,
            files=tuple(FileFacts(**each) for each in row.files),
            is_deleted=row.adapter.status is AdapterStatus.DELETED,
            masker=await secrets.masker(session, [row.project_id]),
        )

    async def observe(self, subject: Subject) -> Result:
        place = self._places.get(subject.destination)
        if place is None:
            message = f"this worker knows no destination {subject.destination}"
            return Result(failure=Failure(PromotionFault.STORAGE_ERROR, message, is_final=False))
        if subject.is_deleted:
            return await asyncio.to_thread(_remove, place, subject)
        if not subject.files:
            return await asyncio.to_thread(_examine, place, subject)
        counter = _Counter()
        async with self._telling(subject.promotion_id, counter):
            return await asyncio.to_thread(_copy, place, subject, counter)

    async def apply(
        self, session: WriteSession, subject: Subject, observed: Result, *, now: datetime
    ) -> datetime | None:
        row = await session.get_one(
            Promotion, subject.promotion_id, options=[joinedload(Promotion.adapter)]
        )
        if observed.failure is not None:
            masked = replace(
                observed.failure, message=subject.masker.text(observed.failure.message)
            )
            return _fail(row, masked, now)
        row.failure = None
        if subject.is_deleted:
            await endpoints.wake(session, subject.destination)
            return None
        if row.status is PromotionStatus.QUEUED:
            row.status, row.started_at = PromotionStatus.RUNNING, row.started_at or now
        if observed.export is not None:
            _settle(row, observed.export, observed.files)
            row.adapter.base = subject.masker.text(row.adapter.base)
            return now
        assert observed.is_copied
        row.status, row.ended_at = PromotionStatus.SUCCEEDED, now
        row.copied_bytes = row.total_bytes or 0
        row.adapter.status, row.adapter.ready_at = AdapterStatus.READY, now
        # Its model is to be seen at once, not at the next look that is due.
        await endpoints.wake(session, subject.destination)
        return None

    @asynccontextmanager
    async def _telling(self, promotion_id: UUID, counter: "_Counter") -> AsyncIterator[None]:
        """Stores how far the copy is, for people to see, while the block runs."""

        async def tell() -> None:
            while True:
                await asyncio.sleep(self._tell_every)
                async with self._database.write() as session:
                    await session.execute(
                        update(Promotion)
                        .where(Promotion.id == promotion_id)
                        .where(Promotion.status == PromotionStatus.RUNNING)
                        .values(copied_bytes=counter.total),
                        execution_options={"synchronize_session": False},
                    )

        task = asyncio.create_task(tell())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class _Counter:
    """Bytes of all files that have arrived; written in a thread, read in the loop."""

    def __init__(self) -> None:
        self._by_file: dict[str, int] = {}

    @property
    def total(self) -> int:
        return sum(self._by_file.copy().values())

    def of(self, name: str) -> Callable[[int], None]:
        def told(count: int) -> None:
            self._by_file[name] = count

        return told


def _examine(place: Place, subject: Subject) -> Result:
    """What there is to copy, and whether the destination's endpoint could serve it."""
    if subject.source is None:
        return Result(failure=_gone())
    try:
        with open_folder(subject.run_folder, subject.source) as folder:
            export = look_at(folder)
            failure = faults.judge(export, place.destination)
            files = tuple(_facts(folder, name) for name in _ORDER)
            return Result(failure=failure) if failure else Result(export, files)
    except BadExport as error:
        return Result(failure=faults.of_export(error))
    except (OSError, ValueError):
        return Result(failure=_gone())


def _copy(place: Place, subject: Subject, counter: _Counter) -> Result:
    store = place.store
    try:
        store.claim(subject.name, str(subject.promotion_id))
        store.tidy(subject.name)
        if not all(store.has(subject.name, file) for file in subject.files):
            with open_folder(subject.run_folder, subject.source or ".") as folder:
                for file in subject.files:
                    with open_file(folder, file.name) as source:
                        store.put(subject.name, file, source, progress=counter.of(file.name))
        return Result(is_copied=True)
    except NameTaken as error:
        return Result(failure=Failure(PromotionFault.NAME_TAKEN, str(error)))
    except SourceChanged as error:
        return Result(failure=Failure(PromotionFault.SOURCE_CHANGED, str(error)))
    except StorageFull as error:
        return Result(failure=Failure(PromotionFault.STORAGE_FULL, str(error), is_final=False))
    except StorageError as error:
        return Result(failure=Failure(PromotionFault.STORAGE_ERROR, str(error), is_final=False))
    except (OSError, ValueError):
        return Result(failure=_gone())


def _remove(place: Place, subject: Subject) -> Result:
    try:
        place.store.remove(subject.name, str(subject.promotion_id))
    except StorageError as error:
        return Result(failure=Failure(PromotionFault.STORAGE_ERROR, str(error), is_final=False))
    return Result()


def _facts(folder: int, name: str) -> FileFacts:
    with open_file(folder, name) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileFacts(name, file.seek(0, 2), digest)


def _gone() -> Failure:
    message = "the checkpoint's folder is not there any more, or not on this machine"
    return Failure(PromotionFault.SOURCE_GONE, message)


def _settle(row: Promotion, export: Export, files: tuple[FileFacts, ...]) -> None:
    row.files = [_as_json(file) for file in files]
    row.total_bytes = sum(file.size for file in files)
    adapter = row.adapter
    adapter.base, adapter.rank = export.base, export.rank
    adapter.size_bytes = row.total_bytes
    adapter.sha256 = next(file.sha256 for file in files if file.name == WEIGHTS)


def _as_json(file: FileFacts) -> dict[str, Any]:
    return {"name": file.name, "size": file.size, "sha256": file.sha256}


def _fail(row: Promotion, failure: Failure, now: datetime) -> datetime | None:
    """When it is tried again; None if that would not help."""
    row.failure, row.tries = failure.as_json(), row.tries + 1
    is_deleted = row.adapter.status is AdapterStatus.DELETED
    if is_deleted or (not failure.is_final and row.tries < MAX_TRIES):
        return now + timedelta(seconds=min(60, 2 ** min(row.tries, 6)))
    row.status, row.ended_at = PromotionStatus.FAILED, now
    row.adapter.status = AdapterStatus.FAILED
    return None
