"""Who publishes a report, under which terms, and what the author says in it besides its numbers."""

from typing import Literal

from pydantic import Field, model_validator

from nephoscope.model.frozen import Frozen, conflict
from nephoscope.model.references import references

Part = Literal["verdict", "money", "explore", "cpu", "network", "storage", "oltp", "key-value", "cost", "doubts"]
"""Of the main page: a section or a chapter."""


class AuthorText(Frozen):
    """A text of the author's own on the main page."""

    before: Part | None = Field(default=None, description="the part of the page that follows it")
    after: Part | None = Field(default=None, description="the part of the page before it")
    markdown: str = Field(
        min_length=1,
        max_length=50_000,
        description="CommonMark with tables, without HTML and images; numbers by reference, as "
        "'{{ tpcc of m6i.8xlarge per CPU }}': see docs/how-to/publish-a-report.md",
    )
    claims: list[str] = Field(
        default=[], description="ids in claims.toml: `report` fails while one of them does not hold"
    )

    @model_validator(mode="after")
    def _can_be_placed_and_filled(self) -> "AuthorText":
        if (self.before is None) == (self.after is None):
            raise conflict("needs either `before` or `after`")
        tuple(references(self.markdown))
        return self

    @property
    def place(self) -> str:
        """'before cpu', 'after verdict'."""
        return f"before {self.before}" if self.before else f"after {self.after}"


class Publication(Frozen):
    """What an author says of a report besides its numbers. Only `text` has markup."""

    subtitle: str = Field(default="", max_length=200, description="below the title")
    authors: list[str] = Field(default=[], description="names, in their order")
    organisation: str = Field(default="", max_length=200, description="that the authors speak for")
    date: str | None = Field(
        default=None, pattern=r"^\d{4}-\d{2}-\d{2}$", description="of publication, as '2026-11-27'"
    )
    licence: str = Field(default="", max_length=200, description="of the text, as 'CC BY 4.0'")
    data_licence: str = Field(default="", max_length=200, description="of the data; default: that of the text")
    cite: str = Field(default="", max_length=1000, description="how to cite the report")
    address: str | None = Field(
        default=None,
        pattern=r"^https://[^\s<>\"]{1,500}$",
        description="where the report is published; links and previews name it",
    )
    logo: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,80}\.(svg|png|jpg|jpeg)$",
        description="a picture in the results folder, at the head of the report: SVG, PNG or JPEG of at most 200 kB",
    )
    text: list[AuthorText] = Field(default=[], max_length=100, description="the author's own, between the parts")

    @property
    def byline(self) -> str:
        """'Ada Lovelace and Grace Hopper, Example Labs, 2026-11-27'; empty if nobody is named."""
        names = " and ".join(filter(None, [", ".join(self.authors[:-1]), *self.authors[-1:]]))
        return ", ".join(filter(None, [names, self.organisation, self.date]))

    @property
    def terms(self) -> str:
        """'Text: CC BY 4.0. Data: CC0.'; empty if nothing is said."""
        if not self.licence and not self.data_licence:
            return ""
        if not self.data_licence or self.data_licence == self.licence:
            return f"Text and data: {self.licence}."
        return f"{f'Text: {self.licence}. ' if self.licence else ''}Data: {self.data_licence}."
