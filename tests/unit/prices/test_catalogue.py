"""The catalogue: its tables agree, its prices are those of a second source, and a question finds what it asks for."""

import csv
import json
from collections import Counter
from datetime import date
from importlib import resources

import polars as pl
import pytest
from typer.testing import CliRunner

from nephoscope.app.cli import app
from nephoscope.model.errors import InputError
from nephoscope.prices.book import PriceBook, shipped
from nephoscope.prices.catalogue.index import architectures, nearest
from nephoscope.prices.catalogue.machines import prices_of
from nephoscope.prices.catalogue.search import Question, search
from nephoscope.prices.catalogue.tables import prices, types
from nephoscope.prices.quote import quote
from nephoscope.prices.rows import DISPUTED, Basis, Price, first_day
from nephoscope.study.model import Configuration

SKYPILOT = "skypilot-catalog v8 aws/vms.csv@00148f2af"
AUTOSCALER = "kubernetes autoscaler gce_price_info.go, us-central1, 2026-06-23"
LIBCLOUD = "apache-libcloud 3.9.1 pricing.json azure_linux, 2025-03-02"
SECOND_SOURCE = (
    ("aws", "us-east-1", "c8gd.medium", 0.04899, SKYPILOT),
    ("aws", "us-east-1", "c8gd.large", 0.09798, SKYPILOT),
    ("aws", "us-east-1", "c8gd.2xlarge", 0.39192, SKYPILOT),
    ("aws", "us-east-1", "c8gd.4xlarge", 0.78384, SKYPILOT),
    ("aws", "us-east-1", "c8gd.8xlarge", 1.56768, SKYPILOT),
    ("aws", "us-east-1", "c8gd.48xlarge", 9.40608, SKYPILOT),
    ("aws", "us-east-1", "c8i-flex.xlarge", 0.17804, SKYPILOT),
    ("aws", "us-east-1", "c8i.2xlarge", 0.37484, SKYPILOT),
    ("aws", "us-east-1", "c8i.4xlarge", 0.74968, SKYPILOT),
    ("aws", "us-east-1", "c8i.12xlarge", 2.24904, SKYPILOT),
    ("aws", "us-east-1", "c8i.32xlarge", 5.99744, SKYPILOT),
    ("aws", "us-east-1", "c8i.48xlarge", 8.99616, SKYPILOT),
)
"""Prices of another source than the catalogue's, by hand: within 2 %, or the catalogue must call them disputed."""


@pytest.mark.parametrize(("provider", "region", "name", "usd", "source"), SECOND_SOURCE)
def test_a_price_agrees_with_a_second_source_or_is_disputed(
    provider: str, region: str, name: str, usd: float, source: str
) -> None:
    (found,) = [row for row in prices_of(provider, name) if row.region == region and row.basis is Basis.ON_DEMAND]
    assert (abs(found.usd - usd) > 0.02 * min(found.usd, usd)) == found.note.startswith(DISPUTED), source
