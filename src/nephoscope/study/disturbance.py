"""Whose accident stolen CPU time is: the host's, where the machine is the user's own; else a part of what is bought."""

from nephoscope.model.disturbance import Disturbance
from nephoscope.study.cloud import CLOUDS
from nephoscope.study.managed import as_provided
from nephoscope.study.model import Configuration, Study


def disturbance_of(study: Study, configuration: Configuration) -> Disturbance:
    """What is in force for the trials of a configuration: the study's own key, else the default by provider."""
    if study.disturbance is not None:
        return study.disturbance
    provider = as_provided(configuration).provider
    return "record" if provider in CLOUDS or configuration.rented else "reject"
