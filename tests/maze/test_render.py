import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image

from app.maze.generate import generate
from app.maze.png import encode_kinds, encode_png
from app.maze.render import Canvas, start_kinds
from app.maze.solve import shortest_path
from app.maze.sprites import CELL_PIXELS, SPRITES, Frame, Kind, Kinds, draw

shapes = array_shapes(min_dims=2, max_dims=2, max_side=12)
grids = arrays(np.uint8, shapes, elements=st.integers(0, len(Kind) - 1))


@given(grids)
def test_the_written_file_holds_the_drawn_pixels(kinds: Kinds) -> None:
    assert np.array_equal(_decoded(encode_kinds(kinds)), draw(kinds))


@given(grids)
def test_each_cell_is_its_sprite(kinds: Kinds) -> None:
    frame = draw(kinds)
    for (row, column), kind in np.ndenumerate(kinds):
        top, left = row * CELL_PIXELS, column * CELL_PIXELS
        cell = frame[top : top + CELL_PIXELS, left : left + CELL_PIXELS]
        assert np.array_equal(cell, SPRITES[kind])


def test_any_frame_becomes_a_file_of_its_size() -> None:
    frame = np.arange(30 * 20 * 3, dtype=np.uint8).reshape(30, 20, 3)
    assert np.array_equal(_decoded(encode_png(frame)), frame)


def test_sprites_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        SPRITES[0, 0, 0, 0] = 1


def test_a_frame_is_a_copy() -> None:
    canvas = Canvas(generate(0))
    canvas.frame()[:] = 0
    assert np.array_equal(canvas.frame(), draw(canvas.kinds))


@given(st.integers(0, 10_000), st.booleans())
def test_repainting_equals_drawing_anew(seed: int, asked_before: bool) -> None:
    maze = generate(seed)
    canvas = Canvas(maze)
    if asked_before:
        canvas.frame()
    for direction in shortest_path(maze):
        canvas.move_to(_ahead(canvas.agent, direction))
        assert np.array_equal(canvas.frame(), draw(canvas.kinds))
    assert canvas.kinds[maze.target] == Kind.AGENT_ON_TARGET


def test_only_the_target_keeps_a_trace_of_the_agent() -> None:
    maze = generate(0)
    canvas = Canvas(maze)
    cells = [maze.start]
    for direction in shortest_path(maze):
        cells.append(_ahead(cells[-1], direction))
    for cell in cells[1:] + cells[-2::-1]:
        canvas.move_to(cell)
    expected = start_kinds(maze)
    expected[maze.target] = Kind.WIPED_TARGET
    assert np.array_equal(canvas.kinds, expected)


def _ahead(cell: tuple[int, int], direction: int) -> tuple[int, int]:
    rows, columns = ((0, 1), (-1, 0), (0, -1), (1, 0))[direction]
    return cell[0] + rows, cell[1] + columns


def _decoded(png: bytes) -> Frame:
    with Image.open(io.BytesIO(png)) as image:
        assert image.mode == "RGB"
        return np.asarray(image)
