"""The wheel for Arm with the wheels of its dependencies, in a tree of Debian 13 for Arm, under QEMU.

hdrhistogram has no wheel for Arm and is left out: it needs a compiler there. So nothing is measured.
"""

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import Marker

ROOT = Path(__file__).parents[2]
WHEELS = sorted((ROOT / "dist").glob("*_aarch64.whl"))
TREE = ROOT / "build" / "arm"
PACKAGES = "/opt/nephoscope"
PYTHON = "3.13"
"""Of Debian 13."""
NO_WHEEL = "hdrhistogram"
TAGS = ("manylinux_2_34_aarch64", "manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
QEMU = "qemu-aarch64-static"
FORMAT = (
    r":aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    f":{shutil.which(QEMU)}:F"
)
"""Programs for Arm, as the kernel is told to recognise them, in a namespace of our own."""
ENTER = """
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf %s "$2" >/proc/sys/fs/binfmt_misc/register
mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
exec env --ignore-environment PATH=/usr/sbin:/usr/bin HOME=/ COLUMNS=200 PYTHONPATH="$3" chroot "$1" "${@:4}"
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(not WHEELS, reason="no wheel for Arm in dist/: make wheels"),
    pytest.mark.skipif(shutil.which(QEMU) is None, reason=f"{QEMU} not installed: apt install qemu-user-static"),
    pytest.mark.skipif(shutil.which("mmdebstrap") is None, reason="mmdebstrap not installed: apt install mmdebstrap"),
    pytest.mark.skipif(platform.machine() == "aarch64", reason="this machine is Arm: test_wheel.py installs it"),
]


@pytest.fixture(scope="module")
def tree() -> Path:
    """Debian's Python for Arm, unpacked once, with the wheel and its dependencies."""
    if not (TREE / "done").exists():
        shutil.rmtree(TREE, ignore_errors=True)
        TREE.parent.mkdir(exist_ok=True)
        unpack = ("mmdebstrap", "--quiet", "--variant=extract", "--architectures=arm64")
        subprocess.run([*unpack, "--include=python3,bash,coreutils", "trixie", TREE], check=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            if not (TREE / name).exists():
                (TREE / name).symlink_to(f"usr/{name}")
        for name in ("proc", "dev", "tmp"):
            (TREE / name).mkdir(exist_ok=True)
        (TREE / "done").touch()
    target = TREE / PACKAGES.lstrip("/")
    shutil.rmtree(target, ignore_errors=True)
    locked = re.findall(r"^([\w-]+==\S+)(?: ; (.*?))? \\", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    this = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.0"}
    of_this_python = [
        pinned
        for pinned, marker in locked
        if not pinned.startswith(f"{NO_WHEEL}==") and (not marker or Marker(marker).evaluate(this))
    ]
    tags = [word for tag in TAGS for word in ("--platform", tag)]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--quiet", "install", "--no-deps", "--only-binary=:all:"),
            "--ignore-requires-python",  # it would compare with the Python that runs here
            *("--target", str(target), "--python-version", PYTHON, *tags, str(WHEELS[-1]), *of_this_python),
        ],
        check=True,
        timeout=900,
    )
    return TREE


def inside(tree: Path, *command: str) -> str:
    """What a command prints that runs in the tree, on an emulated CPU."""
    enter = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-euc", ENTER, "enter"]
    done = subprocess.run(
        [*enter, str(tree), FORMAT, PACKAGES, *command], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_programs_and_the_command_line_start_on_arm(tree: Path) -> None:
    assert inside(tree, "uname", "-m") == "aarch64\n"
    for program in ("nephoscope-load", "nephoscope-load-static"):
        assert "0.1.0" in inside(tree, f"{PACKAGES}/bin/{program}", "--version")
    assert "0.1.0" in inside(tree, "python3", "-m", "nephoscope", "--version")
    kernel = inside(tree, f"{PACKAGES}/bin/nephoscope-load", "kernel", "--threads", "1", "--duration-s", "1")
    assert '"iterations"' in kernel


def test_the_wheels_of_its_dependencies_load_on_arm(tree: Path) -> None:
    """Polars is a native library of 100 MB; `types` reads the catalogue with it."""
    found = inside(tree, "python3", "-m", "nephoscope", "types", "aws m8g.2xlarge", "--region", "us-east-1")
    assert "1 machine type" in found
