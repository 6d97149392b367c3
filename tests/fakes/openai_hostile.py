"""What a served model may do instead of answering, by name: `hostile:<name>` is its model id.

Each behaviour answers one request for a chat completion, streaming or not. Where an answer is a
right one with bad words in it, the words are in `WORDS`.
"""

from tests.fakes.openai_bad_answers import WORDS
from tests.fakes.openai_bad_transport import DRIP_SECONDS, RETRY_AFTER_SECONDS
from tests.fakes.openai_behaviour import BEHAVIOURS

__all__ = ["BEHAVIOURS", "DRIP_SECONDS", "PREFIX", "RETRY_AFTER_SECONDS", "WORDS"]

PREFIX = "hostile:"
