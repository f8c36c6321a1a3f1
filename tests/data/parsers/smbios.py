"""A dump as `dmidecode --dump-bin` makes: the entry point of SMBIOS 2.8 at 0, tables at 0x20. Not a test."""

import struct
from pathlib import Path


def structure(kind: int, handle: int, body: bytes, *texts: str) -> bytes:
    """One structure with its texts behind it."""
    behind = b"".join(text.encode() + b"\0" for text in texts) or b"\0"
    return struct.pack("<BBH", kind, 4 + len(body), handle) + body + behind + b"\0"


def summed(table: bytes, at: int) -> bytes:
    """With the byte that makes the sum of all bytes 0."""
    return table[:at] + bytes([-sum(table) % 256]) + table[at + 1 :]


def dump() -> bytes:
    """BIOS, system, one processor, three places for memory, of which one is empty."""
    processor = (1, 3, 1, 2, 0x0783FBFF000306A9, 3, 0, 0, 2000, 2000, 0x41, 1, *(0xFFFF,) * 3, 0, 0, 0, 8, 8, 16, 2)
    tables = [
        structure(0, 0x0000, struct.pack("<BBHBBQBBBB", 1, 2, 0xE800, 3, 0, 8, 0, 8, 0, 0), "Example", "1.0", "01/02/2026"),
        structure(1, 0x0100, struct.pack("<BBBB16sBBB", 1, 2, 3, 0, bytes(range(16)), 6, 0, 0), "Example Cloud", "test.4xlarge", "Not Specified"),
        structure(4, 0x0400, struct.pack("<BBBBQBBHHHBBHHHBBBBBBH", *processor), "CPU 0", "GenuineIntel", "Example CPU @ 2.00GHz"),
    ]  # fmt: skip
    for place, size_mib in enumerate((0x4000, 0x4000, 0)):
        memory = (0x1000, 0xFFFE, 64, 64, size_mib, 9, 0, 1, 0, 7, 2, 0, 2, 0, 0, 0, 0)
        tables.append(
            structure(17, 0x1100 + place, struct.pack("<HHHHHBBBBBHHBBBBB", *memory), f"DIMM {place}", "Example")
        )
    tables.append(structure(127, 0x7F00, b""))
    whole = b"".join(tables)
    middle = summed(b"_DMI_\0" + struct.pack("<HIHB", len(whole), 0x20, len(tables), 0x28), 5)
    head = b"_SM_\0" + struct.pack("<BBBHB5s", 0x1F, 2, 8, 0, 0, b"\0" * 5)
    return summed(head + middle, 4).ljust(0x20, b"\0") + whole


if __name__ == "__main__":
    Path("smbios.bin").write_bytes(dump())
