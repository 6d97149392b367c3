"""Which kind of server answers. Both kinds are OpenAI-compatible, and differ in what they add."""

from enum import StrEnum


class Dialect(StrEnum):
    """`other` is sent only what OpenAI's own protocol knows; the first two know vLLM's sampling.

    Both of those also answer under exactly the name that they were asked for.
    """

    VLLM = "vllm"
    RAY = "ray"
    OTHER = "other"
