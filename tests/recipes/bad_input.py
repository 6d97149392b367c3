"""Input that is no config: huge, binary, broken, endless, hostile; by name, as bytes or JSON."""

import json
import random

MARK = "/tmp/skydeck-was-here"
"""A file that some of the texts would make if anything of them were run."""

_ALIASES = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [*{before}, *{before}, *{before}, *{before}, *{before}, *{before}]\n"
    for before, name in zip("abcdefghijk", "bcdefghijkl", strict=True)
)
_MANY_KEYS = "".join(f"trainer.key_{n}: {n}\n" for n in range(10_000))
_HOSTILE = (
    f"$(touch {MARK}) `touch {MARK}` ; touch {MARK}\n"
    f"trainer.run_name: !!python/object/apply:os.system ['touch {MARK}']\n"
)

TEXTS: dict[str, bytes] = {
    "five megabytes of overrides": b"trainer.epochs=1\n" * 300_000,
    "five megabytes in one line": b"x" * 5_000_000,
    "as much as is taken, on one line": b"trainer.epochs=" + b"1" * 120_000,
    "as many lines as are taken": b"echo 'a' \"$b\" \\\n" * 8_000,
    "binary": random.Random(0).randbytes(50_000),
    "a program": b"\x7fELF\x02\x01\x01\x00" + bytes(1_000),
    "a byte order mark and half an emoji": b"\xff\xfe\x3d\xd8",
    "an unbalanced quote": b"python -m main trainer.epochs='1\ntrainer.seed=2\n",
    "many unbalanced quotes": b"a='\"$(" * 20_000,
    "an unbalanced bracket": b"trainer: {epochs: [1",
    "an alias of itself": b"a: &a [*a]\n",
    "aliases that double": _ALIASES.encode(),
    "ten thousand keys": _MANY_KEYS.encode(),
    "ten thousand overrides": _MANY_KEYS.replace(": ", "=").encode(),
    "nested lists": b"trainer.epochs: " + b"[" * 60_000,
    "nested JSON": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "nested shells": b'bash -c "' * 10_000,
    "a number of many digits": b"trainer.epochs: " + b"9" * 100_000,
    "interpolations": b"trainer.run_name=" + b"${trainer.run_name}" * 6_000,
    "commands": _HOSTILE.encode(),
    "a date that is none": b"trainer.run_name: 2024-13-45\n",
    "a key of many dots": b"a." * 50_000 + b"b: 1\n",
}

CONFIGS: dict[str, str] = {
    "five megabytes": json.dumps({"trainer.run_name": "x" * 5_000_000}),
    "ten thousand keys": json.dumps({f"trainer.key_{n}": n for n in range(10_000)}),
    "ten thousand keys of the job": json.dumps({f"job.key_{n}": n for n in range(10_000)}),
    "long keys": json.dumps({"a." * 145 + str(n): n for n in range(2_000)}),
    "one deep value": '{"trainer.x": ' + "[" * 50_000 + "]" * 50_000 + "}",
    "a long list": json.dumps({"job.setup_commands": ["x"] * 100_000}),
    "a long list of SkyRL": json.dumps({"data.train_data": list(range(100_000))}),
    "many variables": json.dumps({"job.environment": {f"A{n}": "x" for n in range(50_000)}}),
    "a huge number": '{"trainer.epochs": ' + "9" * 100_000 + "}",
    "a huge size": json.dumps({"trainer.train_batch_size": 10**18, "trainer.epochs": 10**9}),
    "many patterns": json.dumps({"job.metric_patterns": ["(a+)+$"] * 20_000}),
    "half a character": '{"trainer.run_name": "\\ud800"}',
    "no number": '{"trainer.epochs": NaN}',
}
