"""What `job.working_dir` may name, and that no message repeats a password."""

import pytest

from app.recipes.sources import BadSource, Source, SourceKind, parse_source, uploaded_digest

COMMIT, DIGEST = "a" * 40, "0" * 64


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (f"https://host/o/r@{COMMIT}", Source(SourceKind.GIT, "https://host/o/r", COMMIT)),
        (f"https://a.b.org:8443/r.git@{DIGEST}", None),
        (f"ssh://git@host:22/o/r.git@{COMMIT}", None),
        (f"git@host:o/r.git@{COMMIT}", Source(SourceKind.GIT, "git@host:o/r.git", COMMIT)),
        ("s3://my-bucket/a/b.zip", Source(SourceKind.S3, "s3://my-bucket/a/b.zip")),
        (f"upload:{DIGEST}", Source(SourceKind.UPLOAD, DIGEST)),
    ],
)
def test_what_is_a_source(text: str, source: Source | None) -> None:
    found = parse_source(text)
    assert found is not None
    assert source in (None, found)
    assert uploaded_digest(text) == (DIGEST if text.startswith("upload:") else None)


@pytest.mark.parametrize(
    "text",
    [
        "code.zip",
        "/etc",
        "file:///etc",
        f"git://host/o/r@{COMMIT}",
        f"http://host/o/r@{COMMIT}",
        f"ext::sh -c touch% x@{COMMIT}",
        "https://host/o/r",
        "https://host/o/r@main",
        f"https://host/o/r@{COMMIT[:12]}",
        f"https://host/o/r@{COMMIT.upper()}",
        f"https://host@{COMMIT}",
        f"https://-host/o@{COMMIT}",
        f"https://host/o r@{COMMIT}",
        f"https://host/o/../r@{COMMIT}",
        f"https://host/o?x=1@{COMMIT}",
        f"git@host/o@{COMMIT}",
        f"git@host:--upload-pack=x y@{COMMIT}",
        "s3://bucket",
        "s3://bucket/code.tar",
        "s3://BUCKET/code.zip",
        "s3://b..b/code.zip",
        "s3://bucket/a b.zip",
        "s3://bucket/a?versionId=1.zip",
        "upload:",
        f"upload:{DIGEST[:-1]}",
        f"upload:{DIGEST}/..",
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(BadSource) as caught:
        parse_source(text)
    assert caught.value.fix
    assert uploaded_digest(text) is None


@pytest.mark.parametrize("scheme", ["https", "ssh"])
def test_a_password_is_refused_and_not_repeated(scheme: str) -> None:
    with pytest.raises(BadSource, match="password") as caught:
        parse_source(f"{scheme}://user:s3cret@host/o/r@{COMMIT}")
    assert "s3cret" not in f"{caught.value.message} {caught.value.fix}"
    with pytest.raises(BadSource):
        parse_source(f"https://tok3n@host/o/r@{COMMIT}")


def test_nothing_is_no_source() -> None:
    assert parse_source("") is None
