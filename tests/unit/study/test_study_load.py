"""What a person reads when a study is wrong: place, value, what is allowed, what to try."""

import re
import tomllib

import pytest

from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import StudyError
from nephoscope.model.subjects import Subject
from nephoscope.plan.expand import expand
from nephoscope.study import rules
from nephoscope.study.load import load_study
from nephoscope.study.model import Patroni
from nephoscope.study.toml_text import locate
from tests.unit.study.study_example import KNOWN, LAPTOP, MINIMAL, ROOT

DATA = ROOT / "tests" / "data" / "studies"
CASES = tomllib.loads((DATA / "problems.toml").read_text(encoding="utf-8"))
NAME_WANTED = (
    "expected: text in quotes: at most 63 lower-case letters, digits, dots and dashes, starting with a letter or a "
    "digit (also the name of the results folder)"
)
JOB = '{ name = "r", mode = "randread", block_size_kib = 4 }'


def problems(text: str) -> list[str]:
    with pytest.raises(StudyError) as caught:
        load_study(text, "s.toml", KNOWN)
    return str(caught.value).splitlines()


def with_benchmark(text: str) -> str:
    """A study whose only benchmark, from line 4 on, is `text`."""
    return f'name = "s"\nconfigurations = [{{ name = "a" }}]\n[[benchmarks]]\n{text}\n'


def with_configuration(text: str) -> str:
    """A study whose only configuration, from line 4 on, is `text`."""
    return f'name = "s"\nbenchmarks = [{{ uses = "tpcc" }}]\n[[configurations]]\n{text}\n'


def test_parameters_come_back_with_defaults_as_plain_values() -> None:
    study = load_study(
        with_benchmark('uses = "fio"\nparameters.jobs = [{ name = "r", mode = "randread", block_size_kib = 4 }]'),
        "",
        KNOWN,
    )
    job = {"name": "r", "mode": "randread", "block_size_kib": 4, "queue_depth": 1, "fsync_every": 0, "duration_s": 60.0}
    assert study.benchmarks[0].parameters == {"file_size_mib": 1024, "jobs": [job]}


def test_whole_and_decimal_seconds_are_the_same_study() -> None:
    first, second = (
        load_study(with_benchmark(f'uses = "tpcc"\nparameters.duration_s = {value}'), "", KNOWN)
        for value in ("3", "3.0")
    )
    assert first.model_dump_json() == second.model_dump_json()


def test_laptop_study_loads() -> None:
    study = load_study(LAPTOP.read_text(), LAPTOP.name, KNOWN)
    assert [configuration.name for configuration in study.configurations] == ["local-1cpu", "local-all"]
    labels = ["stress-ng-matrix", "memory", "fio", "tpcc", "point-select"]
    assert [entry.label for entry in study.benchmarks] == labels
    assert study.replicates == 6


def test_laptop_study_loads_with_the_real_benchmarks() -> None:
    assert load_study(LAPTOP.read_text(), LAPTOP.name, BENCHMARKS).name == "laptop"


def test_same_configuration_under_two_names_is_allowed() -> None:
    text = MINIMAL.replace("[[benchmarks]]", '[[configurations]]\nname = "b"\n[[benchmarks]]')
    assert len(load_study(text, "", KNOWN).configurations) == 2


def test_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    assert load_study("\ufeff" + MINIMAL.replace("\n", "\r\n"), "", KNOWN).name == "s"


def test_benchmark_problem(subtests: pytest.Subtests) -> None:
    for case in CASES["benchmark"]:
        with subtests.test(case=case):
            assert problems(with_benchmark(case["text"])) == [case["problem"]]


def test_configuration_problem(subtests: pytest.Subtests) -> None:
    for case in CASES["configuration"]:
        with subtests.test(case=case):
            assert problems(with_configuration(case["text"])) == [case["problem"]]


def test_a_wrong_unit_in_a_list_of_inline_tables_is_found_on_its_own_line_and_is_not_missing_as_well() -> None:
    wrong = JOB.replace("kib", "mib")
    assert problems(with_benchmark(f'uses = "fio"\nparameters.jobs = [\n  # first\n  {JOB},\n  {wrong},\n]')) == [
        (
            's.toml:8: benchmarks[0].parameters.jobs[1].block_size_mib: unknown key; did you mean "block_size_kib"? '
            "It is in KiB: block_size_kib = 4096"
        )
    ]


def test_a_list_whose_elements_are_all_wrong_is_not_too_short_as_well() -> None:
    wrong = JOB.replace("randread", "read")
    assert problems(with_benchmark(f'uses = "fio"\nparameters.jobs = [{wrong}]')) == [
        's.toml:5: benchmarks[0].parameters.jobs[0].mode: "read" is not allowed; expected: "randread" or "randwrite"'
    ]
    assert problems(with_benchmark('uses = "fio"\nparameters.jobs = []')) == [
        "s.toml:5: benchmarks[0].parameters.jobs: [] is not allowed; expected: a list of at least 1, each a table"
    ]


def test_missing_keys_are_reported_at_their_table() -> None:
    assert problems(with_benchmark('uses = "fio"\n\n[benchmarks.parameters]')) == [
        "s.toml:6: benchmarks[0].parameters.jobs: missing; expected: a list of at least 1, each a table"
    ]
    assert problems("") == [
        f"s.toml:1: name: missing; {NAME_WANTED}",
        (
            "s.toml:1: configurations: missing; expected: a list of at least 1, each a table (what to compare; or use "
            "[[matrix]])"
        ),
        "s.toml:1: benchmarks: missing; expected: a list of at least 1, each a table (how to measure it)",
    ]


def test_a_rule_of_the_benchmark_itself_keeps_its_words() -> None:
    assert problems(with_benchmark(f'uses = "fio"\nparameters.jobs = [{JOB}, {JOB}]')) == [
        "s.toml:5: benchmarks[0].parameters: two jobs have the same name"
    ]


def test_names_that_stand_twice_show_both_lines() -> None:
    text = MINIMAL.replace("[[benchmarks]]", '[[configurations]]\nname = "a"\n[[benchmarks]]')
    assert problems(text + '[[benchmarks]]\nuses = "tpcc"\n') == [
        's.toml:5: configurations[1].name: "a" appears twice, first at line 3; names must be unique',
        's.toml:9: benchmarks[1].uses: "tpcc" appears twice, first at line 7; give one of them a `name` of its own',
    ]


def test_a_name_of_one_benchmark_and_a_use_of_another_clash() -> None:
    text = MINIMAL + '[[benchmarks]]\nuses = "stress-ng"\nname = "tpcc"\n'
    assert problems(text) == [
        's.toml:8: benchmarks[1].name: "tpcc" appears twice, first at line 5; names must be unique'
    ]


def test_a_unit_of_the_same_kind_is_converted_and_a_share_has_its_sign_taken_off() -> None:
    lines = problems('equivalence_margin_percent = "2 %"\n' + MINIMAL + "[budget]\nmax_minutes = 90\n")
    assert lines[0].endswith("; write it without quotes and unit: equivalence_margin_percent = 2")
    assert (
        lines[1]
        == 's.toml:8: budget.max_minutes: unknown key; did you mean "max_hours"? It is in hours: max_hours = 1.5'
    )


def test_a_benchmark_runs_on_configurations_of_its_study() -> None:
    said = problems(with_benchmark('uses = "tpcc"\nconfigurations = ["a", "other"]'))
    assert said == ['s.toml:5: benchmarks[0].configurations[1]: unknown configuration "other"; there are: a']


def test_a_study_of_a_newer_format() -> None:
    (line,) = problems('schema = "nephoscope/study/2"\n' + MINIMAL)
    assert line.startswith("s.toml:1: schema: nephoscope/study/2 is newer than this nephoscope")


def test_zero_replicates_and_a_bad_name() -> None:
    least = "(6 is the minimum for a 95 % interval of the median)"
    assert problems("replicates = 0\n" + MINIMAL.replace('"s"', '"My Study"')) == [
        f"s.toml:1: replicates: 0 is not allowed; expected: a whole number from 1 to 1000 {least}",
        f's.toml:2: name: "My Study" is not allowed; {NAME_WANTED}',
    ]


def test_a_letter_that_is_missing_is_no_unit() -> None:
    (line,) = problems(MINIMAL + "[budget]\nmax_us = 4\n")
    assert line == 's.toml:7: budget.max_us: unknown key; did you mean "max_usd"? It is in US dollars'


def test_a_conversion_that_nobody_means_is_not_offered() -> None:
    (line,) = problems(MINIMAL + "[budget]\nmax_ms = 4\n")
    assert line.endswith('did you mean "max_hours"? It is in hours')


def test_an_ambiguous_key_names_every_candidate() -> None:
    assert problems(MINIMAL + "[budget]\nmax = 3\n") == [
        's.toml:7: budget.max: unknown key; did you mean "max_usd" or "max_hours"?'
    ]


def test_a_password_in_a_dsn_is_refused_and_never_shown(subtests: pytest.Subtests) -> None:
    for dsn in [
        "postgresql://me:hunter2@db:5432/x",
        "postgres://me:hun/ter2@db/x",
        "postgresql://me:hun?ter2@db/x",
        "postgresql://db/x?user=me&password=hunter2",
        "postgresql://db/x?user=me&pass%77ord=hunter2",
        "postgresql://db/x?sslpassword=hunter2",
        "host=db user=me password=hunter2",
        "host=db PASSWORD = 'hunter2'",
    ]:
        with subtests.test(dsn=dsn):
            (line,) = problems(with_configuration(f'name = "a"\ndatabase.dsn = "{dsn}"'))
            assert line.startswith("s.toml:5: configurations[0].database.dsn: holds a password")
            assert "PGPASSWORD" in line
            assert "ter2" not in line


@pytest.mark.parametrize(
    "text",
    [
        'database.dsn = ["postgresql://me:hunter2@db/x"]',
        'database = "postgresql://me:hunter2@db/x"',
        'database = ["host=db password=hunter2"]',
        'database.dns = "postgresql://me:hunter2@db/x"',
    ],
)
def test_a_dsn_in_the_wrong_place_is_never_shown(text: str) -> None:
    (line,) = problems(with_configuration(f'name = "a"\n{text}'))
    assert "hunter2" not in line


def test_a_dsn_without_a_password_is_taken(subtests: pytest.Subtests) -> None:
    for dsn in [
        "postgresql://me@db:5432/x",
        "postgresql://db:5432/x?user=me@tenant",
        "postgresql://me:@db/x",
        "postgres://db",
        "postgresql://[::1]:5432/x",
        "postgresql://one:5432,[::1]:5433/x?target_session_attrs=primary",
        "postgresql://me@/x?host=/var/run/postgresql&port=5433",
        "postgresql://db/x?sslmode=verify-full&sslrootcert=/etc/ssl/our%20ca.pem&connect_timeout=3",
    ]:
        with subtests.test(dsn=dsn):
            study = load_study(with_configuration(f'name = "a"\ndatabase.dsn = "{dsn}"'), "", KNOWN)
            assert study.configurations[0].database.dsn == dsn


def test_a_dsn_that_is_no_address_of_a_server_is_refused(subtests: pytest.Subtests) -> None:
    for dsn in [
        "postgresql://%2Fvar%2Frun/x",
        "postgresql:///x",
        "postgresql://one,/x",
        "postgresql://one:1,two:port/x",
        "postgresql://db:port/x",
        "postgresql://db:0/x",
        "host=db user=me passfile=/home/me/.pgpass",
        "db.example.com",
        "",
        "postgresql://db/x\\nhunter2",
    ]:
        with subtests.test(dsn=dsn):
            (line,) = problems(with_configuration(f'name = "a"\ndatabase.dsn = "{dsn}"'))
            assert line.startswith("s.toml:5: configurations[0].database.dsn: is not the address of a server")
            assert "expected: postgresql://user@host:port/database" in line


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("postgresql:///?service=bench", "write its host, port, database and TLS parameters instead"),
        ("postgresql://one,two/x", "add `target_session_attrs=primary`"),
        ("postgresql://one,two/x?target_session_attrs=any", "add `target_session_attrs=primary`"),
        ("postgresql://db/x?host=/run", "names a host before the `?`"),
        ("postgresql://db/x?port=5433", "names a host before the `?`"),
    ],
)
def test_several_hosts_need_a_choice_and_one_server_has_one_host(dsn: str, said: str) -> None:
    (line,) = problems(with_configuration(f'name = "a"\ndatabase.dsn = "{dsn}"'))
    assert said in line


@pytest.mark.parametrize("dsn", ["oracle://me@db/hunter2", "redis://db:6379/0", "POSTGRESQL://db/x", "jdbc://db/x"])
def test_a_dsn_of_another_scheme_says_what_is_supported(dsn: str) -> None:
    (line,) = problems(with_configuration(f'name = "a"\ndatabase.dsn = "{dsn}"'))
    assert "must speak PostgreSQL's or MySQL's protocol" in line
    assert "hunter2" not in line


def test_a_dsn_with_unknown_text_is_refused_and_never_shown(subtests: pytest.Subtests) -> None:
    for dsn in [
        "postgresql://me@db/x#hunter2",
        "postgresql://me@db/x#",
        "postgresql://me@db/x/hunter2",
        "postgresql://me@db/x?options=-c%20my.password%3Dhunter2",
        "postgresql://me@db/x?options=-c my.token=hunter2",
        "postgresql://db/x?host=other",
        "postgresql:///x?host=/hunter2,other",
        "postgresql://me@db/x?hunter2",
        "postgresql://me@db/x?hunter2=1",
        "postgresql://me@db/x?sslmode=hunter2",
        "postgresql://me@db/x?connect_timeout=hunter2",
        "postgresql://me@db/x?passfile=/hunter2",
        "postgresql://me@db/x?require_auth=hunter2",
        "postgresql://me@db/x?require_auth=none,hunter2",
        "postgresql://me@db/x?sslnegotiation=hunter2",
        "postgresql://me@db/x?sslcert=/hunter2",
        "postgresql://me@db/x?sslrootcert=system&sslmode=require&sslkey=/hunter2&sslcert=/hunter2",
        "postgresql://me@db/hunter2%zz",
        "postgresql://me@db/x?application_name=hunter2",
        "postgresql://me@db/x?sslmode=require&&hunter2",
        "postgresql://me@db/x?sslmode=require;hunter2",
        "postgresql://me@db/x%20hunter2",
        "postgresql://me%20hunter2@db/x",
    ]:
        with subtests.test(dsn=dsn):
            (line,) = problems(with_configuration(f'name = "a"\ndatabase.dsn = "{dsn}"'))
            said = "has text|has a parameter|has only one|has `sslrootcert|is not|holds"
            assert re.match(rf"s\.toml:5: configurations\[0\]\.database\.dsn: ({said})", line)
            assert "hunter2" not in line


def test_text_that_is_not_toml(subtests: pytest.Subtests) -> None:
    for text, line, hint in [
        ('name = "s"\nreplicates = 3 s\n', 2, "a number must not be followed by a unit"),
        ("name = s\n", 1, "text needs quotes"),
        ('name = "s"\nname = "t"\n', 2, "a key may appear only once"),
        ('\nname = "s\n', 2, "a closing quote is missing"),
        ("[budget\n", 1, "write a table as [name]"),
        ("[budget]\n[budget]\n", 2, "a table may appear only once"),
        ("x = [1, 2", 1, "a closing bracket"),
        ("just words\n", 1, "write `key = value`"),
        ("x = {\n a = 1 }", 1, "must be on one line"),
    ]:
        with subtests.test(text=text):
            (problem,) = problems(text)
            assert problem.startswith(f"s.toml:{line}: not TOML: ")
            assert hint in problem


@pytest.mark.parametrize("text", ["a = 0x" + "f" * 9000, "a = " + "9" * 5000])
def test_what_no_study_holds_is_refused_shortly(text: str) -> None:
    assert problems(text) == ["s.toml:1: not a study: a number is too long"]


def test_text_that_is_not_unicode() -> None:
    assert problems("\n# \udcff") == ["s.toml:2: not UTF-8 text; save the file as UTF-8"]


def test_everything_wrong_at_once() -> None:
    """One study with all kinds of problems; beside it stands what a person reads."""
    with pytest.raises(StudyError) as caught:
        load_study((DATA / "everything-wrong.toml").read_text(), "everything-wrong.toml", KNOWN)
    assert str(caught.value) + "\n" == (DATA / "everything-wrong.txt").read_text()


@pytest.mark.parametrize(
    ("database", "place"),
    [
        ('database.system = "postgres"', "6: configurations[0].database.system"),
        ('database.dsn = "postgresql://db/x"', "6: configurations[0].database.dsn"),
        ("database.connections = 3", "5: configurations[0].provider"),
        ("", "5: configurations[0].provider"),
    ],
)
def test_a_fake_machine_with_a_real_database_is_refused(database: str, place: str) -> None:
    (line,) = problems(with_configuration(f'name = "a"\nprovider = "fake"\n{database}'))
    assert line == f's.toml:{place}: provider "fake" has no machine for a real server; set `database.system = "fake"`'


def test_a_fake_machine_needs_no_database_for_what_drives_none() -> None:
    no_database = MINIMAL.replace('"tpcc"', '"stress-ng"').replace('"a"', '"a"\nprovider = "fake"')
    for text in (with_configuration('name = "a"\nprovider = "fake"\ndatabase.system = "fake"'), no_database):
        assert load_study(text, "", KNOWN).configurations[0].provider == "fake"


def on_a_fake_machine(benchmark: str) -> bool:
    """Whether the rules let a benchmark with the database that a configuration has by default run there."""
    text = f'configurations = [{{ name = "a", provider = "fake" }}]\n[[benchmarks]]\n{benchmark}\n'
    said = rules.across_keys(tomllib.loads(text), locate(text), BENCHMARKS)
    return not any("has no machine for a real server" in problem.text for problem in said)


def test_a_fake_machine_refuses_whatever_drives_a_real_database(subtests: pytest.Subtests) -> None:
    for name in sorted(BENCHMARKS):
        with subtests.test(name=name):
            assert on_a_fake_machine(f'uses = "{name}"') == (BENCHMARKS[name].subject is not Subject.DATABASE)


def test_a_fake_machine_refuses_the_fake_benchmark_only_when_it_drives_a_database() -> None:
    assert on_a_fake_machine('uses = "fake"\nparameters = { database = false, value = "wrong" }')
    assert not on_a_fake_machine('uses = "fake"\nparameters = { database = true, value = "wrong" }')


def test_the_cluster_study_knows_what_its_machines_are() -> None:
    study = load_study((ROOT / "studies" / "cluster.toml").read_text(encoding="utf-8"), "cluster.toml", BENCHMARKS)
    small, large = study.configurations
    assert small.database_machine.emulated is not None
    assert large.database_machine.emulated is not None
    assert (small.database_machine.emulated.vcpus, large.database_machine.emulated.vcpus) == (1, 2)
    assert large.load_machine is not None
    assert large.load_machine.emulated is not None


def test_hosts_are_counted_for_ssh() -> None:
    text = with_configuration('name = "a"\nprovider = "ssh"\ndatabase_machine.hosts = ["x", "y"]')
    (configuration,) = load_study(text, "", KNOWN).configurations
    assert configuration.database_machine.count == 2


AWS = 'name = "a"\nprovider = "aws"\n'
AZURE = 'name = "a"\nprovider = "azure"\ncloud = { image = "i", ingress = "10.0.0.0/16" }\n'


def test_what_a_cloud_is_asked_for_is_asked_of_a_cloud_and_makes_sense(subtests: pytest.Subtests) -> None:
    for configuration, problem in [
        ('name = "a"\ncloud = { image = "i", ingress = "10.0.0.0/16" }', "only providers aws, azure, gcp support this"),
        (
            'name = "a"\ndatabase_machine.volumes = [{ kind = "gp3", size = 1 }]',
            "only providers aws, azure, gcp support this",
        ),
        ('name = "a"\ndatabase_machine.cores = 2', "only providers aws, azure, gcp support this"),
        (f"{AZURE}database_machine.cores = 2", "azure sets vCPUs, not cores; add `threads_per_core`"),
        ('name = "a"\ndatabase_machine.disks = "apart"', "only providers aws, azure, gcp support this"),
        (
            f'{AWS}database_machine = {{ type = "i", local_ssds = 2, disks = "apart" }}',
            '"postgres" has one data folder',
        ),
        (f'{AWS}database_machine.cpu_platform = "x"', 'only provider "gcp" supports this'),
        (f'{AWS}database_machine.local_ssd_interface = "scsi"', "elsewhere the machine type decides it"),
        (
            f'{AWS}database_machine.volumes = [{{ kind = "gp3", size = 1, interface = "nvme" }}]',
            'volumes[0].interface: only provider "gcp" supports this',
        ),
        ('name = "a"\nprovider = "gcp"\ndatabase_machine.local_ssd_interface = "scsi"', "there are no `local_ssds`"),
        (f'{AWS}cloud = {{ image = "i", ingress = "0.0.0.0/0" }}', "allows more than 65,536 addresses"),
        *(
            (
                f'{AWS}cloud = {{ image = "i", ingress = "203.0.113.7/32", packages = ["{name}"] }}',
                "a name such as 'fio'",
            )
            for name in ("-oDPkg::Pre-Invoke::=id", "./fio.deb", "https://example.com/fio.rpm", "fio nc", "$(id)", "")
        ),
        *(
            (f'name = "a"\ndatabase = {{ system = "{system}", settings = {{ "{name}" = \'{value}\' }} }}', says)
            for system, name, value, says in (
                ("postgres", "Archive_Command", "touch /tmp/x", "what runs programs"),
                ("postgres", "ssl_passphrase_command", "id", "what runs programs"),
                ("postgres", "archive_command=id #", "x", "not the name of a setting"),
                ("postgres", "log-directory", "/home", "not the name of a setting"),
                ("postgres", "dynamic_library_path", "/tmp", "names files"),
                ("postgres", "shared_preload_libraries", "/tmp/x.so", "without a path"),
                *(
                    ("mariadb", name, "x", "what runs programs")
                    for name in (
                        *(
                            "init_file",
                            "plugin_load_add",
                            "plugin_dir",
                            "secure_file_priv",
                            "general_log_file",
                            "tmpdir",
                        ),
                        *("log_error", "wsrep_provider", "wsrep_notify_cmd", "wsrep_sst_auth", "innodb_data_file_path"),
                        *("skip_grant_tables", "loose_plugin_load", "bind_address", "datadir", "chroot", "socket"),
                    )
                ),
                ("mysql", "log_bin", "/etc/cron.d/x", "no slashes"),
                ("mariadb", "innodb-page-size", "4k", "not the name of a setting"),
                ("valkey", "loadmodule", "/tmp/x.so", "what runs programs"),
                ("valkey", "appendfsync", 'no" "x', "no quotes"),
                ("valkey", "enable-module-command", "yes", "what runs programs"),
                ("cockroachdb", "a.b = 1; CREATE USER eve; SET CLUSTER SETTING a.b", "1", "not the name of a setting"),
                ("cockroachdb", "server.host_based_authentication.configuration", "host all", "names files and"),
                ("cockroachdb", "trace.opentelemetry.collector", "203.0.113.7:4317", "names files and addresses"),
                ("cockroachdb", "external.graphite.endpoint", "203.0.113.7:2003", "names files and addresses"),
            )
        ),
        *(
            (
                f'name = "a"\ndatabase = {{ system = "cockroachdb", start_flags = {{ "{flag}" = "{value}" }} }}',
                f"database.start_flags.{flag}: nephoscope does not set what runs programs",
            )
            for flag, value in (
                ("spatial-libs", "/tmp/x"),
                ("log", "{http-servers: {x: {address: 'http://203.0.113.7'}}}"),
                ("store", "path=/home"),
                ("http-addr", "0.0.0.0:8080"),
                ("wal-failover", "path=/home"),
                ("background", "true"),
                ("insecure", "true"),
            )
        ),
        (f'{AWS}cloud = {{ image = "i", ingress = "here" }}', "is not an IPv4 network"),
        (f'{AZURE}zone = "eastus-1"', 'zone: "eastus-1" is not a zone of azure'),
        (f'{AZURE}zone = "1"\nother_zones = ["2", "4"]', 'other_zones[1]: "4" is not a zone of azure'),
        ('name = "a"\ndatabase_machine.zones = ["a"]', "only providers aws, azure, gcp, emulated, ssh support this"),
        (
            f'{AWS}region = "us-east-1"\ndatabase_machine.region = "us-west-2"',
            "database_machine.region: the database's region is that of the configuration",
        ),
        (
            f'{AWS}region = "us-east-1"\nload_machine.region = "us-west-2"',
            'load_machine.region: name the zone there as well, in the same table: zones = ["us-west-2a"]',
        ),
        (
            f'{AWS}region = "us-east-1"\nload_machine = {{ region = "us-west-2", zones = ["us-east-1a"] }}',
            'load_machine.zones[0]: "us-east-1a" is not a zone of us-west-2; its zones are named like "us-west-2a"',
        ),
        (
            f'{AZURE}database_machine.zones = ["1", "4"]',
            'database_machine.zones[1]: "4" is not a zone of azure; zones are "1", "2" and "3"',
        ),
        (
            f'{AWS}other_zones = ["us-east-1c"]\ndatabase_machine.zones = ["us-east-1a", "us-east-1b"]',
            "other_zones: the database machines name their own `zones`, so no other zone is tried; remove it",
        ),
        (
            f'{AWS}region = "us-east-1"\n[[regions]]\nname = "us-east"\nlatitude = 1\nlongitude = 1',
            'regions[0].name: no configuration is in region "us-east"; did you mean "us-east-1"?',
        ),
        (
            f'{AWS}database_machine = {{ local_ssds = 1, volumes = [{{ kind = "gp3", size = 1 }}] }}',
            "the data folder is either on `volumes` or on local SSDs",
        ),
    ]:
        with subtests.test(configuration=configuration), pytest.raises(StudyError, match=re.escape(problem)):
            load_study(with_configuration(configuration), "", KNOWN)


def test_by_which_way_a_machine_is_entered_is_no_part_of_a_trials_id() -> None:
    def ids(ingress: str) -> list[str]:
        text = with_configuration(f'{AWS}cloud = {{ image = "i", ingress = "{ingress}" }}')
        return [trial.intent.id for trial in expand(load_study(text, "", KNOWN), BENCHMARKS).trials]

    assert ids("203.0.113.7/32") == ids("198.51.100.1/32")


def test_cockroachdb_is_driven_in_its_own_dialect() -> None:
    text = with_configuration('name = "a"\n[configurations.database]\nsystem = "cockroachdb"')
    with pytest.raises(StudyError) as caught:
        load_study(text, "s.toml", BENCHMARKS)
    where = "s.toml:6: configurations[0].database.system"
    assert str(caught.value) == (
        f'{where}: benchmark "tpcc" uses the SQL dialect postgres: set `parameters.dialect = "cockroachdb"`'
    )
    spoken = text.replace('uses = "tpcc"', 'uses = "tpcc", parameters = { dialect = "cockroachdb" }')
    with pytest.raises(StudyError, match=r"isolation level read committed, but CockroachDB before 23\.2"):
        load_study(f'{spoken}version = "23.1.9"\n', "s.toml", BENCHMARKS)
    strict = spoken.replace('"cockroachdb" }', '"cockroachdb", isolation = "serializable" }')
    for text_of_version in (f'{strict}version = "22.1.6"\n', f'{spoken}version = "23.2.0"\n'):
        assert load_study(text_of_version, "s.toml", BENCHMARKS).configurations[0].database.version
    assert load_study(spoken, "s.toml", BENCHMARKS).configurations[0].database.secure is None
    with pytest.raises(StudyError, match="uses the SQL dialect cockroachdb"):
        load_study(spoken.replace('system = "cockroachdb"', "connections = 3"), "s.toml", BENCHMARKS)
    with pytest.raises(StudyError, match="remove `dsn`"):
        load_study(f'{spoken}dsn = "postgresql://me@db/x"\n', "s.toml", BENCHMARKS)


@pytest.mark.parametrize(
    ("database", "says"),
    [
        ('dsn = "mysql://me@db/x"', 'add `system = "mariadb"`'),
        ('system = "mysql"\ndsn = "postgresql://me@db/x"', "an address that begins with mysql://"),
        ('system = "mysql"\ndsn = "mysql://me@one,two/x"', "a trial measures one server"),
        ('system = "mysql"\ndsn = "mysql://db/x"', "expected: mysql://user@host:port/database"),
        ('system = "mysql"\ndsn = "mysql://me:secret@db/x"', "holds a password"),
        (
            'system = "mariadb"\ndsn = "mysql://me@db/x"\nsettings = { sync_binlog = "0" }',
            "changes no setting of a server of yours",
        ),
    ],
)
def test_an_address_of_mysqls_protocol_fits_its_system(database: str, says: str) -> None:
    text = with_configuration(f'name = "a"\n[configurations.database]\n{database}')
    with pytest.raises(StudyError) as caught:
        load_study(text.replace('uses = "tpcc"', 'uses = "tpcb"'), "s.toml", BENCHMARKS)
    (line,) = str(caught.value).splitlines()
    assert says in line
    assert "secret" not in line


def test_what_mariadb_is_not_driven_with_is_refused() -> None:
    text = with_configuration('name = "a"\n[configurations.database]\nsystem = "mariadb"')
    driven = text.replace('uses = "tpcc"', 'uses = "tpcb"')
    assert load_study(driven, "s.toml", BENCHMARKS).configurations[0].database.system == "mariadb"
    where = r"configurations\[0\]\.database\.system: benchmark \"tpcb\", on mariadb: "
    for parameter, says in (
        ('profile = "pipelined"', 'profile "pipelined" is not there, as an error stops nothing'),
        ('dialect = "yugabytedb"', 'dialect "yugabytedb" is one of PostgreSQL'),
        ('retry = "savepoint"', 'retry "savepoint" is CockroachDB'),
        ('prepared = "unnamed"', 'prepared "unnamed" is a choice for connection poolers'),
    ):
        with pytest.raises(StudyError, match=f"{where}{says}"):
            load_study(driven.replace('"tpcb"', f'"tpcb", parameters = {{ {parameter} }}'), "s.toml", BENCHMARKS)
    with pytest.raises(StudyError, match='benchmark "tpcc", on mariadb: profile "batched" is not there'):
        load_study(text, "s.toml", BENCHMARKS)
    for profile in ("chatty", "proc"):
        assert load_study(
            text.replace('"tpcc"', f'"tpcc", parameters = {{ profile = "{profile}" }}'), "s.toml", BENCHMARKS
        )
    two = driven.replace('name = "a"\n', 'name = "a"\ndatabase_machine = { count = 2 }\n')
    with pytest.raises(StudyError, match="of two servers of Galera, both stop where one fails"):
        load_study(two, "s.toml", BENCHMARKS)
    machine = '{ emulated = { name = "n", vcpus = 1, memory_gib = 1, disk_gib = 1 } }'
    several = machine.replace("{", "{ count = 3,", 1)
    apart = f'provider = "emulated"\nload_machine = {machine}\ndatabase_machine = {several}\n'
    three = driven.replace('name = "a"\n', f'name = "a"\n{apart}')
    assert load_study(three, "s.toml", BENCHMARKS)
    with pytest.raises(StudyError, match="nephoscope starts one server of mysql: use 1 machine"):
        load_study(three.replace('"mariadb"', '"mysql"'), "s.toml", BENCHMARKS)


def test_two_servers_of_cockroachdb_are_refused_because_they_would_wait_for_a_third() -> None:
    text = with_configuration(
        'name = "a"\nprovider = "emulated"\nload_machine = { type = "t" }\n'
        'database_machine = { type = "t", count = 2 }\n[configurations.database]\nsystem = "cockroachdb"'
    )
    text = text.replace('uses = "tpcc"', 'uses = "tpcc", parameters = { dialect = "cockroachdb" }')
    text = text.replace("[[configurations]]", '[[machine_types]]\nname = "t"\nvcpus = 1\n\n[[configurations]]', 1)
    with pytest.raises(StudyError, match=r"database_machine\.count: two CockroachDB servers keep one copy"):
        load_study(text, "s.toml", BENCHMARKS)
    assert load_study(text.replace("count = 2", "count = 3"), "s.toml", BENCHMARKS).configurations


def test_replicas_fill_the_machines_that_masters_leave() -> None:
    text = with_configuration('name = "a"\n[configurations.database]\nsystem = "valkey"\nreplicas = 1')

    def placed(count: int) -> str:
        hosts = ", ".join(f'"db{number}"' for number in range(count))
        machines = f'provider = "ssh"\nload_machine = {{ hosts = ["l"] }}\ndatabase_machine = {{ hosts = [{hosts}] }}\n'
        return text.replace("[configurations.database]", f"{machines}[configurations.database]")

    assert load_study(placed(6), "s.toml", BENCHMARKS).configurations[0].database.replicas == 1
    for count, there in ((1, "is 1"), (5, "are 5")):
        with pytest.raises(StudyError, match=f"takes 2 machines, but there {there}: use a multiple of 2"):
            load_study(placed(count), "s.toml", BENCHMARKS)
    with pytest.raises(StudyError, match='only `system = "valkey"` supports this'):
        load_study(placed(6).replace('"valkey"', '"postgres"'), "s.toml", BENCHMARKS)
    taking_over = [placed(count).replace("replicas = 1", 'replicas = 1\nfailover = "cluster"') for count in (4, 6)]
    with pytest.raises(
        StudyError, match=r"takes 3 masters .* but there are 4 with 1: use at least 6 database machines"
    ):
        load_study(taking_over[0], "s.toml", BENCHMARKS)
    assert load_study(taking_over[1], "s.toml", BENCHMARKS).configurations[0].database.failover == "cluster"
    with pytest.raises(StudyError, match=r"database\.failover: a replica takes over .* with 0"):
        load_study(taking_over[1].replace("replicas = 1\n", ""), "s.toml", BENCHMARKS)


def test_patroni_keeps_three_servers_or_more_that_nephoscope_starts() -> None:
    def placed(count: int, *lines: str, system: str = "postgres") -> str:
        hosts = ", ".join(f'"db{number}"' for number in range(count))
        machines = f'provider = "ssh"\nload_machine = {{ hosts = ["l"] }}\ndatabase_machine = {{ hosts = [{hosts}] }}'
        database = "\n".join(["[configurations.database]", f'system = "{system}"', *lines])
        return with_configuration(f'name = "a"\n{machines}\n{database}')

    kept, fast = 'failover = "patroni"', "patroni = { ttl = 20, loop_wait = 4, retry_timeout = 8 }"
    (study,) = load_study(placed(3, kept, fast), "s.toml", BENCHMARKS).configurations
    assert (study.database.failover, study.database.patroni) == (
        "patroni",
        Patroni(ttl=20, loop_wait=4, retry_timeout=8),
    )
    for text, said in (
        (placed(1, kept), "etcd agree, one on each database machine, but there is 1: use 3 machines or more"),
        (placed(2, kept), "but there are 2: use 3 machines or more"),
        (placed(3, fast), 'nothing uses this; add `failover = "patroni"` to `database`'),
        (placed(3, 'failover = "cluster"'), 'postgres has only "patroni"'),
        (placed(6, kept, "replicas = 1", system="valkey"), 'valkey has only "cluster"'),
        (placed(3, kept, system="fake"), r"only `system = \"valkey\" or \"postgres\"` supports this"),
        (placed(3, kept, 'dsn = "postgresql://me@db/x"'), "nephoscope starts the servers that Patroni keeps"),
        (placed(3, kept, "patroni = { ttl = 20 }"), "must fit into `ttl`"),
    ):
        with pytest.raises(StudyError, match=said):
            load_study(text, "s.toml", BENCHMARKS)


def test_which_standbys_a_commit_waits_for_follows_from_the_machines() -> None:
    text = with_configuration(
        'name = "a"\n[configurations.database]\nsettings = { synchronous_standby_names = "*", work_mem = "8MB" }'
    )
    with pytest.raises(StudyError, match=r"settings\.synchronous_standby_names: nephoscope sets this .* set `count`"):
        load_study(text, "s.toml", BENCHMARKS)
    load_study(text.replace("synchronous_standby_names", "synchronous_commit"), "s.toml", BENCHMARKS)
    load_study(f'{text}\ndsn = "postgresql://me@db/x"\n', "s.toml", BENCHMARKS)


def test_how_a_cloud_makes_machines_is_said_once_for_all() -> None:
    own = 'cloud = { image = "ami-2", ingress = "203.0.113.8/32" }'
    text = f"""
name = "s"
benchmarks = [{{ uses = "tpcc" }}]
configurations = [
  {{ name = "a", provider = "aws" }}, {{ name = "b", provider = "aws", {own} }}, {{ name = "c", provider = "gcp" }},
]
[clouds.aws]
image = "ami-1"
ingress = "203.0.113.7/32"
"""
    clouds = [one.cloud for one in load_study(text, "", KNOWN).configurations]
    assert [cloud and cloud.image for cloud in clouds] == ["ami-1", "ami-2", None]


_OVER_SSH = 'name = "a"\nprovider = "ssh"\ndatabase_machine.hosts = [{}]\n'
_ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEu0y0wEGQ8w6xQXcO2qk3eZkqv8m0y2l7bF3Qw0o0aQ"


def test_text_that_would_leave_its_place_is_refused_with_its_line(subtests: pytest.Subtests) -> None:
    for text, said in [
        (_OVER_SSH.format('"../x"'), '6: configurations[0].database_machine.hosts[0]: "../x" is not a host'),
        (_OVER_SSH.format('"db1", "[::1]:22"'), '6: configurations[0].database_machine.hosts[1]: "[::1]:22" is not'),
        (_OVER_SSH.format('"-oProxyCommand=x"'), "is not a host"),
        (_OVER_SSH.format('"me@"'), "is not a host"),
        (_OVER_SSH.format('"db1"') + 'ssh.jump = "a/b"', '7: configurations[0].ssh.jump: "a/b" is not a host'),
        (_OVER_SSH.format('"db1"') + 'ssh.host_keys.db1 = "AAAA"', "7: configurations[0].ssh.host_keys.db1: is not a"),
        (_OVER_SSH.format('"db1"') + 'ssh.host_keys.db1 = "ssh-rsa AAAA"', "is not a public key"),
        (
            'name = "a"\nregion = "x\\u0000y"',
            "5: configurations[0].region: it contains U+0000, a character that",
        ),
        ('name = "a"\nprice_basis = "\\u001b[31m"', "5: configurations[0].price_basis: it contains U+001B"),
        ('name = "a"\ndatabase.settings."a\\u0000" = "1"', "its name contains U+0000"),
        (
            'name = "a"\nprovider = "other"\nzone = "../b"',
            '6: configurations[0].zone: "../b" is not the name',
        ),
        ('name = "a"\nprovider = "other"\nother_zones = ["b", "c/d"]', "6: configurations[0].other_zones[1]: "),
        ('name = "a"\nprovider = "other"\ndatabase_machine.type = "a/../b"', "a part of it is `..`"),
    ]:
        with subtests.test(text=text):
            lines = problems(with_configuration(text))
            assert any(said in line for line in lines), lines


@pytest.mark.parametrize("host", ["db1", "me@10.0.0.9:2222", "a@b@db_1.example.com", "::1", "fe80::1%eth0"])
def test_a_host_is_taken_as_ssh_takes_it(host: str) -> None:
    text = _OVER_SSH.format(f'"{host}"') + f'ssh.host_keys."{host}" = "{_ED25519} me@laptop"'
    study = load_study(with_configuration(text), "s.toml", KNOWN)
    assert study.configurations[0].database_machine.hosts == [host]
