"""`prices update` against a server of this machine that answers in the providers' shapes."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from nephoscope.app.cli import main
from nephoscope.prices.rows import Basis, read_csv
from tests.unit.prices.price_lists import AWS, GCP


def azure_item(name: str, usd: float) -> dict[str, Any]:
    return {
        "currencyCode": "USD",
        "retailPrice": usd,
        "unitPrice": usd,
        "armRegionName": "eastus",
        "effectiveStartDate": "2024-01-01T00:00:00Z",
        "skuName": name,
        "productName": "Virtual Machines Dsv5 Series",
        "meterName": name,
        "serviceName": "Virtual Machines",
        "armSkuName": f"Standard_{name}",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "tierMinimumUnits": 0,
        "isPrimaryMeterRegion": True,
    }


def gcp_page(*, second: bool) -> dict[str, Any]:
    """Half of the list each; the first page names the second."""
    half = len(GCP["skus"]) // 2
    return {"skus": GCP["skus"][half:]} if second else {"skus": GCP["skus"][:half], "nextPageToken": "2"}


class Provider(BaseHTTPRequestHandler):
    """Two pages of Azure, AWS's file of one region, and two pages of GCP for whoever brings the key."""

    def do_GET(self) -> None:
        pages = {
            "": {"Items": [azure_item("D8s_v5", 0.384)], "NextPageLink": f"{self.base}/api/retail/prices?$skip=1"},
            "$skip=1": {"Items": [azure_item("D16s_v5", 0.9)], "NextPageLink": None},
        }
        path, _, query = self.path.partition("?")
        if path == "/api/retail/prices":
            body, code = json.dumps(pages["$skip=1" if "skip" in query else ""]).encode(), 200
        elif path == "/offers/v1.0/aws/AmazonEC2/current/us-west-2/index.json":
            body, code = json.dumps(AWS).encode(), 200
        elif "AmazonEC2" in path:
            body, code = b"<html>busy</html>", 200
        elif path.endswith("/skus") and self.headers["X-Goog-Api-Key"] == "the-key":
            body, code = json.dumps(gcp_page(second="pageToken=2" in query)).encode(), 200
        else:
            body, code = b"no", 403
        self.send_response(code)
        self.end_headers()
        self.wfile.write(body)

    @property
    def base(self) -> str:
        server = self.server
        assert isinstance(server, HTTPServer)
        return f"http://127.0.0.1:{server.server_port}"

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Provider)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def update(provider: str, out: Path, base: str, region: str = "eastus") -> int:
    return main(["prices", "update", "--provider", provider, "--region", region, "--out", str(out), "--base-url", base])


def test_every_page_becomes_rows_and_what_changed_is_told(
    base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "azure.csv"
    assert update("azure", out, base) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "compared with the built-in price book: 1 changed, 1 unchanged, 0 new" in told
    assert "azure eastus Standard_D16s_v5, on-demand: $0.768 (2026-06-18) is now $0.9 (+17.2 %)" in told
    rows = read_csv(out)
    assert {row.item: row.usd for row in rows} == {"Standard_D8s_v5": 0.384, "Standard_D16s_v5": 0.9}
    assert {row.source.split(",")[0] for row in rows} == {base}
    assert all(row.source == f"{base}, downloaded {row.date}" for row in rows), "the list says no day of its own"
    assert update("azure", out, base) == 2, "it exists"


def test_the_file_of_one_aws_region_becomes_rows(base: str, tmp_path: Path) -> None:
    out = tmp_path / "aws.csv"
    assert update("aws", out, base, "us-west-2") == 0
    rows = read_csv(out)
    assert [row.usd for row in rows if (row.item, row.basis) == ("x1.large", Basis.ON_DEMAND)] == [0.1]
    assert {row.region for row in rows} == {"us-west-2"}
    assert {row.date for row in rows} == {AWS["publicationDate"][:10]}, "of the list, and not of the download"


def test_every_page_of_gcp_becomes_rows_and_the_key_stays_out_of_them(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCP_API_KEY", "the-key")
    out = tmp_path / "gcp.csv"
    assert update("gcp", out, base) == 0
    items = {row.item for row in read_csv(out)}
    assert {"N2 Instance Core", "Commitment v1: N2 Ram", "Internet Egress"} <= items, "of both pages"
    assert "the-key" not in out.read_text(encoding="utf-8")


def test_what_is_not_a_list_is_told(base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert update("aws", tmp_path / "aws.csv", base) == 3
    assert "did not answer with JSON" in capsys.readouterr().err
    assert not (tmp_path / "aws.csv").exists()


def test_gcp_needs_a_key(
    base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GCP_API_KEY", raising=False)
    assert update("gcp", tmp_path / "gcp.csv", base) == 2
    assert "GCP_API_KEY" in capsys.readouterr().err
    monkeypatch.setenv("GCP_API_KEY", "x")
    assert update("gcp", tmp_path / "gcp.csv", base) == 3
    assert "403" in capsys.readouterr().err


def test_offline_is_told_with_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert update("azure", tmp_path / "azure.csv", "http://127.0.0.1:9") == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "cannot reach" in said
    assert "prices import" in said


def test_an_unknown_provider_is_told(base: str, tmp_path: Path) -> None:
    assert update("ovh", tmp_path / "x.csv", base) == 2
