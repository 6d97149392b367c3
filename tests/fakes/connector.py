"""Opens clusters on this machine, which an administrator has allowed."""

from app.ray.connect import Connector, guarded_clients
from tests.outgoing.conftest import Rules


def connector(*rules: str) -> Connector:
    """By default the whole of this machine may be called, by http, too."""
    return Connector(guarded_clients(Rules(*(rules or ("127.0.0.1",)))), session_name="skydeck")
