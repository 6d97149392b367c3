"""What one request, and all of them together, may cost."""

MAX_MODEL_LEN = 8192
"""Tokens of a prompt; an answer has four, and they need not fit in too."""

MAX_IMAGES, MAX_MESSAGES, MAX_STOPS = 64, 256, 16
MAX_PARTS = 4 * MAX_MESSAGES
"""Of the contents of all messages together."""
MAX_BODY_BYTES = 2 * 1024 * 1024
HEAD_SECONDS, BODY_SECONDS = 10.0, 10.0

MAX_RUNNING = 128
"""Requests whose body is read or that are answered; more are sent away."""

MAX_CONNECTIONS = 256

MAX_ADAPTERS = 8
"""Adapters kept merged with the base, about 1.1 MB each; the least recently used one goes."""

MAX_PICTURES = 512
"""Pictures kept decoded, about 1 kB each: each turn sends those of all earlier ones again."""

MAX_ADAPTER_BYTES = 4 * 1024 * 1024
MAX_CONFIG_BYTES = 64 * 1024
