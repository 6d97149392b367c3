"""Addresses of pages for other people: links of invites, of new passwords and of shared runs."""

from starlette.requests import Request


def public_link(request: Request, path: str) -> str:
    """The whole address of `path`, which starts without a slash.

    On the setting `public_url`, else on the host that this request named.
    """
    base = request.app.state.settings.public_url or str(request.base_url)
    return f"{base.rstrip('/')}/{path}"
