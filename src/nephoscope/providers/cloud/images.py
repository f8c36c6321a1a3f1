"""The architecture of a cloud's image, as far as its name says it."""

import re

_ARM = re.compile(r"(?:^|[^a-z0-9])(?:arm64|aarch64)(?:$|[^a-z0-9])", re.IGNORECASE)
_X86 = re.compile(r"(?:^|[^a-z0-9])(?:amd64|x86[-_]64|x64)(?:$|[^a-z0-9])", re.IGNORECASE)
_NAMES_ARM_IMAGES = re.compile(
    r"projects/(?:debian|ubuntu-os|rocky-linux|rhel|suse|centos)-cloud/|(?:debian|canonical):", re.IGNORECASE
)
"""Publishers on GCP and Azure who write the architecture into the name of each Arm image, and often not of others."""


def architecture_of_image(image: str) -> str | None:
    """amd64 or arm64; None: the name does not say, as in AWS's ids and in images of your own."""
    if _ARM.search(image):
        return "arm64"
    if _X86.search(image) or _NAMES_ARM_IMAGES.match(image):
        return "amd64"
    return None
