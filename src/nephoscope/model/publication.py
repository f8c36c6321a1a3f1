"""Who publishes a report, and under which terms: what stands at the top and at the foot of its main page."""

from pydantic import Field

from nephoscope.model.frozen import Frozen


class Publication(Frozen):
    """What an author says of a report besides its numbers. Everything is text; none of it is markup."""

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
