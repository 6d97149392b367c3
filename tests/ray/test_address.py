"""Addresses of clusters: four forms, each with one spelling."""

import pytest

from app.ray.address import (
    BadRayAddress,
    ClusterAddress,
    EmbeddedAddress,
    EndpointAddress,
    HttpAddress,
    RayAddress,
    parse_address,
)


@pytest.mark.parametrize(
    ("text", "address", "shown"),
    [
        ("embedded", EmbeddedAddress(), "embedded"),
        (
            " http://Ray.Example.com:8265/ ",
            HttpAddress("http://ray.example.com:8265"),
            "http://ray.example.com:8265",
        ),
        ("https://10.0.0.7", HttpAddress("https://10.0.0.7"), "https://10.0.0.7"),
        (
            "sagemaker_ray://skyrl/team-a",
            ClusterAddress("skyrl", "team-a"),
            "sagemaker_ray://skyrl/team-a",
        ),
        (
            "sagemaker_ray://skyrl/",
            ClusterAddress("skyrl", "default"),
            "sagemaker_ray://skyrl/default",
        ),
        (
            "sagemaker_ray://Ray.example.com/",
            EndpointAddress("ray.example.com"),
            "sagemaker_ray://ray.example.com",
        ),
        (
            "sagemaker_ray://127.0.0.1:8443",
            EndpointAddress("127.0.0.1:8443"),
            "sagemaker_ray://127.0.0.1:8443",
        ),
    ],
)
def test_each_form_has_one_spelling(text: str, address: RayAddress, shown: str) -> None:
    assert parse_address(text) == address
    assert str(address) == shown
    assert parse_address(shown) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "auto",
        "ray://head:10001",
        "ray.example.com:8265",
        "ftp://ray.example.com",
        "http://",
        "http://user:password@ray.example.com",
        "http://ray.example.com/api",
        "http://ray.example.com?x=1",
        "http://0x7f000001:8265",
        "sagemaker_ray://",
        "sagemaker_ray://a/b/c",
        "sagemaker_ray://Upper/team-a",
        "sagemaker_ray://skyrl/../x",
        "sagemaker_ray://localhost:8443",
        "sagemaker_ray://ray.example.com/path",
        "sagemaker_ray://ray.example.com?x=1",
        "sagemaker_ray://u@ray.example.com",
        "http://" + "a" * 600,
    ],
)
def test_anything_else_is_refused_with_what_is_wanted(text: str) -> None:
    with pytest.raises(BadRayAddress) as caught:
        parse_address(text)
    assert "password" not in str(caught.value) or "no password" in str(caught.value)
