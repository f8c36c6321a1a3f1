"""Numbers in sentences, where several packages say them."""


def counted(count: int, noun: str) -> str:
    """'1 row', '3,102 rows'."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
