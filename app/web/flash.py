"""One sentence after a redirect, shown once in the page's live region.

The cookie holds only the name of a sentence, so a forged cookie can say nothing of its own.
"""

from starlette.requests import Request
from starlette.responses import Response

COOKIE = "skydeck_flash"
SENTENCES = {
    "run-queued": "Run launched. This page follows it; you may leave and come back.",
    "run-stopping": "Stopping. The run saves a checkpoint first.",
    "run-resumed": "Queued again. It goes on from its newest checkpoint.",
    "run-deleted": "Run deleted. It is in no list any more.",
    "run-restored": "Run restored.",
    "runs-stopping": "Stopping the chosen runs. Each saves a checkpoint first.",
    "runs-deleted": "Deleted the chosen runs. Each can be restored on its page.",
    "runs-tagged": "Tag added to the chosen runs.",
    "runs-untagged": "Tag taken from the chosen runs.",
    "runs-pinned": "Pinned the chosen runs.",
    "runs-unpinned": "Unpinned the chosen runs.",
    "runs-archived": "Archived the chosen runs. They are found under Archived.",
    "runs-unarchived": "Brought back. The chosen runs are in the table again.",
    "view-saved": "View saved. It is yours alone; the same name saves over it.",
    "view-deleted": "View deleted. The runs are as they were.",
    "experiment-changed": "Saved.",
    "experiment-forked": "Forked. This experiment starts with a version of the other one.",
    "experiment-archived": "Archived. It is in no list any more and takes no new runs.",
    "experiment-restored": "Restored. It is in the lists again.",
    "saved": "Version saved. Nothing was launched.",
    "saved-already": "Nothing to save: the newest version is just this.",
    "sweep-created": "Sweep launched. This page follows its runs; you may leave and come back.",
    "made-already": "Sent twice, made once: this is what the first press made.",
    "sweep-stopping": "Stopping. Runs save a checkpoint first; those that wait never start.",
    "sweep-resumed": "Queued again. Each run goes on from its newest checkpoint.",
    "episode-created": "Episode made. Ask for a turn, or move.",
    "episode-forked": "Branched. The other episode stays as it is.",
    "endpoint-registered": "Endpoint registered. Its models appear here within seconds.",
    "endpoint-changed": "Endpoint saved.",
    "endpoint-checked": "Looking. This page shows what the endpoint says within seconds.",
    "endpoint-removed": "Endpoint removed, and its key. What was played on it is kept.",
    "adapter-deleted": "Adapter deleted. Its files are moved aside; its name stays used.",
    "evaluation-created": "Queued. This page follows it; you may leave and come back.",
    "evaluation-stopping": "Stopping. What was played is kept; Resume plays the rest.",
    "evaluation-resumed": "Queued again. It plays what is missing or got no answer.",
    "eval-set-created": "Eval set added. Evaluations of this project can use it.",
    "project-created": "Project made. You are its administrator; add its members below.",
    "project-renamed": "Project renamed. Its addresses are as before.",
    "member-added": "Member added. They see the project from now on.",
    "member-changed": "Role changed. It counts from the next click on.",
    "member-removed": "Member removed. They see nothing of the project from now on.",
    "share-revoked": "Link revoked. Whoever opens it from now on sees nothing.",
    "signed-in": "Signed in.",
    "signed-out": "Signed out.",
    "welcome": "Welcome. Your account is made, and you are signed in.",
    "password-set": "Password set. Every other browser was signed out.",
    "session-ended": "That browser is signed out.",
    "sessions-ended": "Every other browser is signed out.",
    "user-changed": "Role changed. It counts from the next request on.",
    "user-disabled": "Account disabled. Its sessions, tokens, links and open invites have ended.",
    "user-enabled": "Account enabled. Sign-in works again; what had ended stays ended.",
    "invite-revoked": "Invite taken back. Its link opens nothing any more.",
    "host-allowed": "Host allowed. Skydeck may call it from now on.",
    "host-removed": "Host taken off the list. Calls to it are refused within seconds.",
    "secret-set": "Secret set. Jobs that start from now on get this value.",
    "secret-deleted": "Secret deleted. Jobs that have it already keep it.",
    "code-uploaded": "Uploaded and checked. The runs of this project can use it.",
    "cluster-changed": "Saved. It counts for every run that starts from now on.",
    "cluster-added": "Cluster added. Its connection is being checked.",
    "cluster-checking": "Asked. A worker checks the connection now.",
    "cluster-removed": "Cluster removed. Its credential is deleted.",
    "token-revoked": "Token revoked. Programs that use it are refused from now on.",
}
_SECONDS = 60


def flash(response: Response, name: str) -> Response:
    """Adds the sentence called `name` to the next page. Raises `KeyError` for an unknown one."""
    if name not in SENTENCES:
        raise KeyError(name)
    response.set_cookie(COOKIE, name, max_age=_SECONDS, httponly=True, samesite="lax")
    return response


def read_flash(request: Request) -> str | None:
    return SENTENCES.get(request.cookies.get(COOKIE, ""))


def clear_flash(request: Request, response: Response) -> Response:
    if COOKIE in request.cookies:
        response.delete_cookie(COOKIE, httponly=True, samesite="lax")
    return response
