"""The policy's five answer tokens and their text in the keyword dialect."""

from app.maze.parse import KEYWORDS, Dialect, parse, spell

WORDS = tuple(KEYWORDS)
"""Right, up, left, down, stop: the order of the moves, then the stop."""

STOP = WORDS.index("stop")

TEXTS = tuple(spell(word, Dialect.KEYWORD) for word in WORDS)
"""What each token reads as, e.g. `<action>right</action>`."""

ACTIONS = tuple(parse(text, Dialect.KEYWORD).action for text in TEXTS)
"""What the environment is told when it is given that text, e.g. `('move', 0)`."""
