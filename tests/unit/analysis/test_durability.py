"""When a database acknowledges a commit, by its settings."""

import pytest

from nephoscope.insights.durability import Acknowledged, acknowledged


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"fsync": "on", "synchronous_commit": "on"}, Acknowledged.ON_DISK),
        ({"fsync": "on", "synchronous_commit": "remote_apply"}, Acknowledged.ON_DISK),
        ({"fsync": "on", "synchronous_commit": "off"}, Acknowledged.WITHIN_A_SECOND),
        ({"fsync": "off", "synchronous_commit": "on"}, Acknowledged.UNSYNCED),
        ({"innodb_flush_log_at_trx_commit": "1"}, Acknowledged.ON_DISK),
        ({"innodb_flush_log_at_trx_commit": "2"}, Acknowledged.WITHIN_A_SECOND),
        ({"innodb_flush_log_at_trx_commit": "0"}, Acknowledged.WITHIN_A_SECOND),
        ({"appendonly": "yes", "appendfsync": "always"}, Acknowledged.ON_DISK),
        ({"appendonly": "yes", "appendfsync": "everysec"}, Acknowledged.WITHIN_A_SECOND),
        ({"appendonly": "yes", "appendfsync": "no"}, Acknowledged.UNSYNCED),
        ({"appendonly": "no", "appendfsync": "always"}, Acknowledged.UNSYNCED),
        ({"server_version": "18.6"}, None),
    ],
)
def test_it_follows_from_the_settings_in_force(settings: dict[str, str], expected: Acknowledged | None) -> None:
    assert acknowledged(settings) is expected
