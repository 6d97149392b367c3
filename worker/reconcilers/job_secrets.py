"""What a job is given of the project's secrets, and how they are kept out of all that is stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from app.db import ReadSession
from app.models import Attempt, Run, Secret
from app.ray.errors import RayError
from app.ray.gateway import JobInfo
from app.recipes import service as recipes
from app.runs import policy
from app.secrets import service as secrets
from app.secrets.masking import Masker
from app.secrets.vault import Vault, vault_of
from app.users import service as users
from worker.reconcilers import failures, job_tracking
from worker.reconcilers.failures import Refusal

# Ray quotes the last so many characters of a log, from the middle of a line on.
_QUOTED = 20_000
_NONE = Masker(())


@dataclass(frozen=True, slots=True)
class JobSecrets:
    """Still closed; `refusal` says why they cannot be given. `masker` knows the project's all.

    `run_token` is by what the job logs to its own run, if it is given one.
    """

    masker: Masker = _NONE
    refusal: Refusal | None = None
    rows: Sequence[Secret] = ()
    vault: Vault | None = field(default=None, repr=False)
    run_token: str | None = field(default=None, repr=False)

    @property
    def ids(self) -> list[UUID]:
        return [row.id for row in self.rows]

    def environment(self) -> dict[str, str]:
        """Opens them: variables by name. Raises `KeyMissing`."""
        if self.vault is None:
            return {}
        return {row.name: self.vault.open(row) for row in self.rows}

    def mask_job(self, job: JobInfo | None) -> JobInfo | None:
        """Without any secret in what Ray says of the job."""
        if job is None:
            return None
        message = job.message
        if len(message) >= _QUOTED:
            # The first line may begin in the middle of a secret, which nobody would know again.
            message = message.partition("\n")[2]
        error_type = job.error_type and self.masker.text(job.error_type)
        return replace(job, message=self.masker.text(message), error_type=error_type)

    def mask_refusal(self, refusal: Refusal | None) -> Refusal | None:
        if refusal is None:
            return None
        return replace(refusal, failure=failures.masked(refusal.failure, self.masker))

    def mask_trouble(self, trouble: RayError | None) -> RayError | None:
        if trouble is not None:
            trouble.message = self.masker.text(trouble.message)
        return trouble


async def load_secrets(
    session: ReadSession, run: Run, attempt: Attempt, *, is_submitting: bool
) -> JobSecrets:
    """For a run with its config and cluster loaded. Raises `KeyMissing`."""
    also = job_tracking.masked_values(session, attempt.id)
    masker = await secrets.masker(session, [run.project_id], also=also)
    if not is_submitting or run.cluster is None:
        return JobSecrets(masker)
    token = await users.find_run_token(session, attempt)
    found = policy.barriers(run.cluster, run.config.recipe, run.config.values)
    # An embedded cluster that was turned off meanwhile does not answer, which is no refusal.
    found = [barrier for barrier in found if barrier.rule != policy.EMBEDDED_OFF]
    if found:
        return JobSecrets(masker, refusal=failures.not_allowed(found[0].message, found[0].fix))
    names = recipes.secret_names(run.config.values)
    if not names:
        return JobSecrets(masker, run_token=token)
    rows = await secrets.rows_for_job(session, run.project_id, names)
    missing = sorted(set(names) - {row.name for row in rows})
    if missing:
        message = f"The project has no secret {', '.join(missing)} any more"
        hint = "Set it under the project's secrets, then resume the run."
        return JobSecrets(masker, refusal=failures.not_allowed(message, hint))
    return JobSecrets(masker, rows=rows, vault=vault_of(session), run_token=token)
