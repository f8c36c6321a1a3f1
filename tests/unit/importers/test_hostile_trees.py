"""Trees from anybody: links out, FIFOs, folders named like files, damaged numbers. Each is skipped and named."""

import json
import os
import shutil
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation
from nephoscope.app.stages.imports import import_cloud_report_2019, import_results
from nephoscope.importers.folder import write
from nephoscope.importers.imported import ImportedStudy
from nephoscope.importers.registry import IMPORTERS
from nephoscope.importers.tree import MAX_BYTES, content_of, files_below
from nephoscope.model.errors import InputError
from nephoscope.model.rows import ConfigurationRow
from nephoscope.store.folder import ResultsFolder
from tests.support.others_results import PHORONIX, SAMPLES

DATA = Path(__file__).parents[2] / "data"
SECRET = "hunter2-of-somebody-else"


def hostile(folder: Path, name: str) -> None:
    """Beside good files: everything that is named like one and is none."""
    outside = folder.parent / "outside"
    outside.write_text(SECRET)
    folder.mkdir(parents=True, exist_ok=True)
    for place in ("link", "pipe", "folder", "circle", "device", "large"):
        (folder / place).mkdir()
    (folder / "link" / name).symlink_to(outside)
    os.mkfifo(folder / "pipe" / name)
    (folder / "folder" / name).mkdir()
    (folder / "circle" / name).symlink_to(folder / "circle" / name)
    (folder / "device" / name).symlink_to("/dev/zero")
    with (folder / "large" / name).open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    (folder / "to-the-root").symlink_to("/")


def refused(study: ImportedStudy) -> list[str]:
    return sorted(one.split(":")[0].split("/")[0] for one in study.refused)


def test_phoronix_reads_regular_files_of_the_tree_only(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    hostile(tree, "composite.xml")
    (tree / "composite.xml").write_text(PHORONIX)
    study = IMPORTERS["phoronix"].read(tree)
    assert study.trials
    assert len(study.refused) == 5, "what is a folder is none of its files"
    assert SECRET not in study.model_dump_json()


def test_fio_reads_regular_files_of_the_tree_only_and_a_damaged_one_ends_nothing(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    hostile(tree, "fio.json")
    good = DATA / "fio" / "random-read-3.33.json"
    shutil.copy(good, tree / "fio.json")
    huge = good.read_text().replace('"jobname"', '"x": ' + "9" * 400 + ', "jobname"', 1)
    (tree / "digits.json").write_text(huge)
    for key in ("total_ios", "iops", "io_bytes", "mean"):
        text = good.read_text()
        at = text.index(f'"{key}" : ') + len(f'"{key}" : ') if f'"{key}" : ' in text else 0
        (tree / f"{key}.json").write_text(text[:at] + "9" * 400 + text[at:])
    (tree / "deep.json").write_text("[" * 100_000)
    study = IMPORTERS["fio"].read(tree)
    assert study.trials
    assert {"link", "pipe", "circle", "device", "large", "deep.json", "iops.json"} <= {*refused(study)}
    assert SECRET not in study.model_dump_json()
    with pytest.raises(InputError, match="files cannot be read; the first: "):
        import_results("fio", tree, ResultsFolder(tmp_path / "strict"), strict=True)
    assert not (tmp_path / "strict").exists()
    assert import_results("fio", tree, ResultsFolder(tmp_path / "out")).refused == study.refused


def test_spare_cores_reads_regular_files_of_the_tree_only(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for kind in ("good", "bad", "dated"):
        task = tree / "aws" / kind / "redis"
        task.mkdir(parents=True)
        (task / "stdout").write_text('"test","rps"\n"SET: depth: 1","1000"\n')
        (task / "meta.json").write_text(json.dumps({"start": "2020-13-45", "end": "2020-13-45", "exit_code": 0}))
    outside = tmp_path / "outside"
    outside.write_text(SECRET)
    (tree / "aws/bad/redis/stdout").unlink()
    (tree / "aws/bad/redis/stdout").symlink_to(outside)
    (tree / "aws/bad/redis/meta.json").unlink()
    os.mkfifo(tree / "aws/bad/redis/meta.json")
    study = IMPORTERS["spare-cores"].read(tree)
    assert {trial.machine.machine_type for trial in study.trials} == {"good", "dated"}
    assert [one for one in study.refused if one.startswith("aws/bad: a link to something outside")]
    assert SECRET not in study.model_dump_json()


def test_logs_of_2019_are_read_of_the_tree_only(tmp_path: Path) -> None:
    run = tmp_path / "tree" / "aws" / "c5.large" / "2020-13-45" / "1"
    run.mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.write_text(SECRET)
    (run / "cpu.log").symlink_to(outside)
    os.mkfifo(run / "network-ping.log")
    (run / "io-rd-results.log").write_text("nothing")
    record = import_cloud_report_2019(tmp_path / "tree", None)
    assert "cpu.log: a link to something outside the imported folder" in record.runs[0].unreadable


@pytest.mark.parametrize("name", sorted(IMPORTERS))
def test_a_path_that_is_no_file_is_told_by_every_importer(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(InputError):
            IMPORTERS[name].read(path)


def test_a_link_that_is_named_itself_is_followed(tmp_path: Path) -> None:
    """Who gives the link as PATH chose it; one found in a tree was chosen by somebody else."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_text("content")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (file,) = files_below(tmp_path / "link")
    assert content_of(file, tmp_path / "link") == b"content"
    (tmp_path / "other").symlink_to(tmp_path / "real/file")
    assert content_of(tmp_path / "other", tmp_path / "other") == b"content"


def test_a_folder_whose_name_has_control_characters_is_imported_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "fio" / "aws" / "m5.\x1b[31mlarge"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(SAMPLES["fio"])
    results = ResultsFolder(tmp_path / "results")
    write(IMPORTERS["fio"].read(tmp_path / "fio"), results, "0")
    assert all(row.counts for row in evaluation.status(results))
    (machine,) = {row.machine_type for row in evaluation.analyze(results)[ConfigurationRow]}
    assert machine == r"m5.\x1b[31mlarge"
