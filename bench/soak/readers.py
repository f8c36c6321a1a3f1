"""What reads a damaged input: every parser, every importer, every stored file, and studies."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.harness.sources import ROOT
from nephoscope.app.stages import evaluation, verifying
from nephoscope.app.stages.planning import load, plan
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.importers.registry import IMPORTERS
from nephoscope.machines.telemetry import parse_telemetry
from nephoscope.prices.importers.base import Origin
from nephoscope.prices.importers.registry import IMPORTERS as PRICE_LISTS
from nephoscope.run.clock import SystemClock
from nephoscope.store.folder import ResultsFolder
from tests.support.made_results import made_results
from tests.support.others_results import SAMPLES as OUTPUTS
from tests.support.parser_samples import SAMPLES as RECORDINGS
from tests.support.parser_samples import mutated, parse_any
from tests.support.results_of_0_1 import NAMES, unpacked
from tests.unit.prices.price_lists import AWS, AZURE, CYCLENERD, GCP, SAVINGS

DATA = ROOT / "tests" / "data"
LOADS = {"kv", "oltp-insert", "oltp-read-only", "oltp-read-write", "point-select", "tpcb", "tpcc", "ycsb"}
"""Benchmarks whose output is what nephoscope-load writes."""
LISTS = {
    "aws": [json.dumps(AWS), json.dumps(SAVINGS)],
    "azure": [json.dumps(AZURE)],
    "gcp-skus": [json.dumps(GCP)],
    "cyclenerd": [CYCLENERD],
    "csv": ["\n".join((ROOT / "src/nephoscope/prices/data/storage.csv").read_text().splitlines()[:20])],
}
"""Importer -> price lists."""
Reader = Callable[[random.Random], object]
"""Reads one input, drawn and damaged by chance. Raises NephoscopeError if it is refused, and nothing else."""


def parsers(_path: Path) -> Reader:
    """Recordings of tools, each by its parser, and now and then by the one that `parse-output` chooses."""

    def read(chance: random.Random) -> object:
        parse, _, text = chance.choice(RECORDINGS)
        damaged = mutated(text, chance)
        return parse_any(damaged) if chance.random() < 0.1 else parse(damaged)

    return read


def load_outputs(path: Path) -> Reader:
    """What nephoscope-load writes: lines of loads, by the benchmarks that they belong to, and of the sampler."""
    recordings = [(name, _characters(file)) for name in sorted(LOADS) for file in sorted(DATA.glob(f"{name}/run*"))]
    stored = unpacked("rehearsed", path).path
    samplers = [_characters(file) for file in sorted(stored.rglob("telemetry-*.jsonl"))]

    def read(chance: random.Random) -> object:
        if chance.random() < 0.2:
            return parse_telemetry(mutated(chance.choice(samplers), chance))
        name, text = chance.choice(recordings)
        raw = {"load-run.stdout": _bytes(mutated(text, chance))}
        return BENCHMARKS[name].parse(raw, BENCHMARKS[name].parameters())

    return read


def price_lists(path: Path) -> Reader:
    """Price lists of every kind."""
    lists = [(kind, text) for kind, texts in LISTS.items() for text in texts]
    origin = Origin(source="a list", date="2026-01-01")

    def read(chance: random.Random) -> object:
        kind, text = chance.choice(lists)
        (path / "list").write_text(mutated(text, chance), errors="surrogatepass")
        return PRICE_LISTS[kind].read(path / "list", origin)

    return read


def imports(path: Path) -> Reader:
    """Files of other people's tools, alone in a tree, and trees of Spare Cores with one damaged file."""
    trees = {name: path / name / "aws" / "m5.2xlarge" for name in OUTPUTS}
    for folder in trees.values():
        folder.mkdir(parents=True)
    inspected = path / "spare-cores"
    task = inspected / "aws" / "m5.large" / "redis"
    task.mkdir(parents=True)
    files = {
        "stdout": '"test","rps"\n"SET: depth: 1","1000"\n',
        "meta.json": '{"start": "2024-10-01T10:00:00", "end": "2024-10-01T10:10:00", "exit_code": 0}',
    }

    def read(chance: random.Random) -> object:
        name = chance.choice([*OUTPUTS, "spare-cores"])
        if name == "spare-cores":
            for file, text in files.items():
                (task / file).write_text(text, errors="surrogatepass")
            file = chance.choice(list(files))
            (task / file).write_text(mutated(files[file], chance), errors="surrogatepass")
            return IMPORTERS[name].read(inspected)
        suffix = {"phoronix": ".xml", "fio": ".json"}.get(name, ".log")
        file_path = trees[name] / f"run{suffix}"
        file_path.write_text(mutated(OUTPUTS[name], chance), errors="surrogatepass")
        single = name in ("perfkit", "phoronix") or chance.random() < 0.3
        return IMPORTERS[name].read(file_path if single else path / name)

    return read


def stored_files(path: Path) -> Reader:
    """Results folders, of which one file is damaged: their status, and now and then their analysis."""
    folders = {}
    for name in NAMES:
        unpacked(name, path)
        folders[name] = sorted(
            file for file in (path / name).rglob("*") if file.is_file() and file.suffix != ".parquet"
        )
    contents = {file: _characters(file) for files in folders.values() for file in files}

    def read(chance: random.Random) -> object:
        name = chance.choice(list(folders))
        file = chance.choice(folders[name])
        damaged = _bytes(mutated(contents[file], chance))
        folder = ResultsFolder(path / name)
        try:
            file.write_bytes(damaged)
            return evaluation.analysed_now(folder) if chance.random() < 0.25 else evaluation.status(folder)
        finally:
            file.write_bytes(_bytes(contents[file]))
            for cache in ("index.json", "verified.json"):
                (folder.path / cache).unlink(missing_ok=True)

    return read


def files_with_digests(path: Path) -> Reader:
    """A results folder of today, of which one file is damaged: verified, analysed, its raw output read again."""
    folder = made_results(path / "made", {"slow": [100.0, 101.0], "fast": [200.0, "busy"]})
    evaluation.analyze(folder)
    files = sorted(file for file in folder.path.rglob("*") if file.is_file() and file.suffix != ".parquet")
    contents = {file: file.read_bytes() for file in files}

    def read(chance: random.Random) -> object:
        file = chance.choice(files)
        try:
            file.write_bytes(_bytes(mutated(contents[file].decode("latin-1"), chance)))
            return chance.choice(deeds)(ResultsFolder(folder.path))
        finally:
            for other in {*(one for one in folder.path.rglob("*") if one.is_file())} - {*files}:
                other.unlink()
            for one, content in contents.items():
                one.write_bytes(content)

    deeds: list[Callable[[ResultsFolder], object]] = [
        evaluation.status,
        verifying.verify,
        evaluation.analysed_now,
        lambda damaged: evaluation.parse(damaged, SystemClock()),
    ]
    return read


def studies(_path: Path) -> Reader:
    """Every study that ships; small ones are planned, too."""
    texts = {file.name: file.read_text() for file in sorted((ROOT / "studies").glob("*.toml"))}

    def read(chance: random.Random) -> object:
        name = chance.choice(list(texts))
        study = load(mutated(texts[name], chance), name)
        return plan(study) if len(study.configurations) * study.replicates < 100 else study

    return read


def _characters(file: Path) -> str:
    """One for each byte, so that a file that is not UTF-8 is among what damage makes of it."""
    return file.read_bytes().decode("latin-1")


def _bytes(characters: str) -> bytes:
    return characters.encode("latin-1", errors="replace")


READERS: Mapping[str, Callable[[Path], Reader]] = {
    "parsers": parsers,
    "outputs of loads": load_outputs,
    "price lists": price_lists,
    "imports": imports,
    "stored files": stored_files,
    "files with digests": files_with_digests,
    "studies": studies,
}
"""What is damaged -> its reader, which works in an empty folder."""
