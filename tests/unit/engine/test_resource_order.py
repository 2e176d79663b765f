"""The order of resources inside a request."""

from engine.requests.resource_order import hash_order

KNOWN_HASHES = {
    "ephemeral-storage": 0x0A740D6438A94C20,
    "amd.com/gpu": 0x17765035669B645F,
    "memory": 0x2E78EB99A1612FEE,
    "nvidia.com/gpu": 0x4F75CF4C78DF7EE4,
    "pods": 0x8BFCEE0DA86A3C2D,
    "example.com/gpu": 0xA26B5607BEBBB24B,
    "hugepages-2Mi": 0xB6F431B8944EBA47,
    "google.com/tpu": 0xB77DEA89BBE47B2D,
    "storage": 0xCF105A6848CBB2A6,
    "cpu": 0xF5A8FA190CB314C9,
}
"""FNV-1a-64 of the names, computed elsewhere."""


def test_15_gpu_comes_before_cpu() -> None:
    assert hash_order(["cpu", "nvidia.com/gpu"]) == ["nvidia.com/gpu", "cpu"]


def test_order_is_by_hash_whatever_comes_in() -> None:
    assert hash_order(sorted(KNOWN_HASHES)) == sorted(KNOWN_HASHES, key=KNOWN_HASHES.__getitem__)
