"""A form that is sent twice makes its thing once: a press too many, a reload, a way back.

A form that makes something holds a key of its own, given when it is shown. Key and content
together are noted with what they made; the same again leads there. Whoever changes the form and
sends it again means another thing.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable
from secrets import token_urlsafe

from markupsafe import Markup
from starlette.datastructures import FormData

from app.access.principal import Principal
from app.db import WriteSession
from app.idempotency import service as keys

FIELD = "form_key"
_MOST = 100


def form_key() -> Markup:
    """The hidden field that a template puts into such a form."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, token_urlsafe(16))


def form_digest(form: FormData) -> str:
    """What identifies a sent form; "" for one without a key, which makes its thing each time."""
    key = form.get(FIELD)
    if not isinstance(key, str) or not 0 < len(key) <= _MOST:
        return ""
    sent = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    return hashlib.sha256(json.dumps(sent).encode()).hexdigest()


async def make_once(
    session: WriteSession, principal: Principal, digest: str, make: Callable[[], Awaitable[str]]
) -> tuple[str, bool]:
    """The slug of what `make` made, now or when the form was sent before, and whether it is new.

    Note and object are stored in one transaction, so that a crash keeps both or none.
    """
    if not digest:
        return await make(), True
    key = f"form {digest}"
    if not await keys.claim(session, principal.key, key, digest):
        before = await keys.get(session, principal.key, key)
        return str(before.answer["slug"]), False
    slug = await make()
    await keys.store_answer(session, principal.key, key, {"slug": slug})
    return slug, True
