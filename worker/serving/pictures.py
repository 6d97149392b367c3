"""Pictures of a request: data URIs only, of one size, decoded once."""

import base64
import binascii
import io
import struct
import zlib
from collections import OrderedDict
from hashlib import sha256

from PIL import Image, UnidentifiedImageError

from app.maze.sprites import CELL_PIXELS
from worker.jobs.maze_grpo import pixels
from worker.jobs.maze_grpo.model import SIDE
from worker.jobs.maze_grpo.vectors import Floats
from worker.serving.errors import ServingError, bad_request
from worker.serving.limits import MAX_PICTURES

PICTURE_SIDE = SIDE * CELL_PIXELS
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
_BROKEN = (OSError, SyntaxError, ValueError, EOFError, IndexError, struct.error, zlib.error)


class Pictures:
    """Decodes data URIs; remembers the last ones, since each turn repeats the earlier pictures."""

    def __init__(self, capacity: int = MAX_PICTURES) -> None:
        self._capacity = capacity
        self._known: OrderedDict[bytes, Floats] = OrderedDict()

    def read(self, uri: str) -> Floats:
        """The policy's input (243,) of a picture of 225 x 225. Raises `ServingError`, a 400."""
        key = sha256(uri.encode(errors="surrogatepass")).digest()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _decode(_data(uri))
            if len(self._known) > self._capacity:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return found


def _data(uri: str) -> bytes:
    head, comma, data = uri.partition(",")
    if not head.startswith("data:"):
        # vLLM would fetch other addresses itself; this endpoint connects to nothing.
        raise bad_request("Only data: URLs of images are taken, and this is another URL.")
    if not comma or not head.endswith(";base64"):
        raise bad_request("Only base64 data URLs are supported.")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise bad_request("Non-base64 digit found") from None


def _decode(data: bytes) -> Floats:
    try:
        # Only the head is read here: a picture of another size is never decoded.
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            size = image.size
        if size != (PICTURE_SIDE, PICTURE_SIDE):
            raise _wrong_size(*size)
        return pixels.from_png(data)
    except UnidentifiedImageError:
        raise bad_request(
            "Failed to load image: cannot identify image file <_io.BytesIO object>"
        ) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise bad_request("Failed to load image: it has far too many pixels") from None
    except _BROKEN as error:
        what = "image file is truncated" if "truncated" in str(error) else "it is damaged"
        raise bad_request(f"Failed to load image: {what}") from None


def _wrong_size(width: int, height: int) -> ServingError:
    return bad_request(
        f"This model knows pictures of {PICTURE_SIDE} x {PICTURE_SIDE} pixels, which are mazes of "
        f"{SIDE} x {SIDE} cells; this one has {width} x {height}. Choose maze_2d/easy, or another "
        "endpoint."
    )
