"""Which part of a configuration a benchmark measures: a unit of its metric is paid for with that part and no more."""

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.subjects import Subject


class Extent(Frozen):
    """Machines, and whether their volumes take part."""

    machines: int | None = Field(gt=0, description="how many machines are measured; None: the database's cluster")
    volumes: bool = Field(description="whether their volumes are used, too")


CLUSTER = Extent(machines=None, volumes=True)
ONE_MACHINE = Extent(machines=1, volumes=False)
ONE_MACHINE_WITH_VOLUMES = Extent(machines=1, volumes=True)
TWO_ENDS = Extent(machines=2, volumes=False)

_BY_SUBJECT = {
    Subject.CPU: ONE_MACHINE,
    Subject.MEMORY: ONE_MACHINE,
    Subject.STORAGE: ONE_MACHINE_WITH_VOLUMES,
    Subject.NETWORK: TWO_ENDS,
    Subject.DATABASE: CLUSTER,
}


def extent_by_subject(subject: Subject) -> Extent:
    """The extent of a benchmark of which nothing else is stored: those that other people ran."""
    return _BY_SUBJECT[subject]
