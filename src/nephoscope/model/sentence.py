"""Text for people, which code prints and never reads."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import final

    @final
    class Sentence:
        """Text for people.

        For the type checker it is no `str`: to search, split, slice or compare it with a text is an error, so that no
        wording decides anything. What code must know stands beside it as a value. Code may print it (`str`, f-strings),
        and ask whether there is one.
        """

        def __init__(self, text: str) -> None: ...

        def __str__(self) -> str: ...

        def __bool__(self) -> bool: ...

else:
    Sentence = str
    """While the program runs it is a text like any other, for files and templates."""

NO_SENTENCE = Sentence("")
"""Nothing to say."""
