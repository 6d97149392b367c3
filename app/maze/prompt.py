"""What a model is told: VisGym's task and SkyRL's additions, word for word.

Sources: VisGym commit 0289034b `Maze2DEnv.get_prompt`; SkyRL commit a9564572,
`examples/train/visgym/env_sft.py` and `env_instruct.py`.
"""

from app.maze.parse import Dialect

_TASK = """\
You are navigating a {height}x{width} maze. The maze consists of walls (gray) and paths (white). \
You are represented by a blue circle, and your goal is to reach the red target square.

Available actions:
1. 'move': Move in one of four directions. Format: `('move', direction)` where direction is an \
integer:
   - 0=right, 1=up, 2=left, 3=down
2. 'stop': End the navigation session. Format: `('stop', 'stop')`

Success: You succeed if you reach the red target square.

Please respond with exactly one action and its arguments in the specified format. For example:
- To move right: `('move', 0)`
- To move up: `('move', 1)`
- To move left: `('move', 2)`
- To move down: `('move', 3)`
- To stop: `('stop', 'stop')`"""

SUFFIXES = {
    Dialect.TUPLE: (
        "\n\nIMPORTANT: Respond with exactly one action as a Python tuple, "
        "e.g. ('move', 0) or ('stop', 'stop'). "
        "Do not wrap the action in backticks, code blocks, or other formatting."
    ),
    Dialect.KEYWORD: (
        "\n\nIMPORTANT: You must end your response with your chosen action "
        "in this exact format: <action>ACTION</action> "
        "where ACTION is one of: left, right, up, down, stop."
    ),
}

PARSE_FAILURES = {
    Dialect.TUPLE: (
        "Action parsing failed. Could not find a valid action tuple in your response.\n"
        "Please respond with exactly one action as a Python tuple.\n"
        "Available actions: 'move', 'stop'\n"
        "Example: ('move', 0) or ('stop', 'stop')"
    ),
    Dialect.KEYWORD: (
        "Action parsing failed. Could not find a valid action in your response.\n"
        "Please end your response with <action>ACTION</action> "
        "where ACTION is one of: down, left, right, stop, up"
    ),
}
"""What a model is told when no action is found in its answer."""


def task(*, height: int, width: int) -> str:
    """VisGym's prompt for a maze of this size, in cells."""
    return _TASK.format(height=height, width=width)


def first_prompt(dialect: Dialect, *, height: int, width: int) -> str:
    """The text of a conversation's first message: the task and how to answer."""
    return task(height=height, width=width) + SUFFIXES[dialect]
