from pathlib import Path

from app.ray.logs import job_log_path, read_log_file


async def test_a_log_is_read_by_offset(tmp_path: Path) -> None:
    file = job_log_path(tmp_path, "run-1-a1")
    file.parent.mkdir()
    file.write_bytes(b"one\ntwo\xff\n")
    assert await read_log_file(file, offset=0, limit=4) == b"one\n"
    assert await read_log_file(file, offset=4, limit=100) == b"two\xff\n"
    assert await read_log_file(file, offset=9, limit=100) == b""


async def test_a_log_that_does_not_exist_yet_is_empty(tmp_path: Path) -> None:
    assert await read_log_file(job_log_path(tmp_path, "none"), offset=0, limit=100) is None
    assert await read_log_file(tmp_path, offset=0, limit=100) is None
