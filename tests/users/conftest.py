from tests.secrets.conftest import key_file, vaulted

__all__ = ["key_file", "vaulted"]
