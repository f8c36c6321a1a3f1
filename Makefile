# `make` says what there is. Everything lands in .venv, build/ and load/target; nothing outside but Debian packages.

VENV   := .venv
BIN    := $(VENV)/bin
DONE   := $(VENV)/done
SHELL  := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# In the C locale, Python's venv writes no path with letters outside ASCII without it.
export PYTHONUTF8 := 1

# Where `make report` puts its results; results are resumed, not repeated: `make report RESULTS=results/again` measures anew.
RESULTS ?= results/laptop
# More arguments of `nephoscope demo`: `make report DEMO=--quick` takes a minute or two, and decides nothing.
DEMO ?=
# More arguments of the benchmark: `make bench BENCH=--quick`.
BENCH ?=
# More arguments of the simulations: `make simulate SIMULATE="--studies 1000"`.
SIMULATE ?=
# Hours of `make soak`, and more of its arguments: `make soak HOURS=8 SOAK="--share 0.5"`.
HOURS ?= 1
SOAK ?=
# More arguments of pytest: `make test PYTEST="-k fio -x"`.
PYTEST ?=
# Processes of pytest. Three on two CPUs, as tests of real servers wait more than they compute.
WORKERS ?= 3
# Folders of whole things, and other files that have some: each worker collects all tests that it is given, so each
# suite is given no more than it runs.
WHOLES := tests/wholes tests/e2e tests/browser
MORE_WHOLES = $(shell grep -rlE --include='test_*.py' 'tests.support.real_parts import|mark.whole' tests/contract tests/docs tests/unit)
# What `make quick` compares the sources with: `make quick BASE=main` for all of a branch.
BASE ?= HEAD

# Checks the crate with its tests and test servers.
CLIPPY ?= cargo clippy --locked --quiet --all-targets --features testkit -- -D warnings

# The example reports of `make docs`; their names are in website/examples.py.
EXAMPLES ?= laptop postgres-gcp-2026 postgresbench-2026 three-clouds-cpu cloud-report-2022

# Prints the folder of the embedded PostgreSQL, for the tests of the load generator.
EMBEDDED := $(BIN)/python -c 'from nephoscope.databases.postgres.binaries import embedded_folder; print(embedded_folder())'
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input
# Folders too: their time changes when a file goes away. What Python leaves behind is none of the sources.
SOURCES := pyproject.toml hatch_build.py README.md load/Cargo.toml load/Cargo.lock \
	$(shell find src load/src -name __pycache__ -prune -o -type f -print)

# Where the servers of cargo's tests keep their data: in memory if there is enough of it.
MEMORY := $(shell df --output=avail --block-size=1G /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 >= 8 { print "/dev/shm" }')

# Both suites beside each other, since each alone leaves a part of two cores idle. $(1) names what cargo's part writes,
# $(2) are arguments of cargo test, $(3) of pytest. Pytest is seen as it goes; of cargo only what failed.
define TESTS
mkdir -p build; echo "== pytest, and beside it cargo test, which writes build/cargo-$(1).txt"; \
(cd load && $(MEMORY:%=TMPDIR=%) NEPHOSCOPE_PG_BIN="$$(../$(EMBEDDED))" exec cargo test --locked --features testkit --quiet --no-fail-fast $(2)) >build/cargo-$(1).txt 2>&1 & \
cargo=$$!; trap 'kill $$cargo 2>/dev/null || true' EXIT; \
pytest=0; $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(3) $(PYTEST) || pytest=$$?; \
rust=0; wait $$cargo || rust=$$?; \
if [ $$rust != 0 ]; then cat build/cargo-$(1).txt; fi; \
awk '/^test result/ { passed += $$4; failed += $$6 } END { print "cargo test: " passed+0 " passed, " failed+0 " failed" }' \
	build/cargo-$(1).txt; \
[ $$pytest = 0 ] && [ $$rust = 0 ]
endef

.PHONY: help report test quick test-whole test-all lint lint-python lint-rust bench docs examples pictures simulate soak audit static wheels cross setup setup-dev tools browser server lock clean

help: ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

report: tools setup ## measure this machine with the laptop study and write its report
	@$(BIN)/nephoscope demo --out $(RESULTS) $(DEMO)

setup: $(DONE)/wheel ## make .venv with nephoscope in it

setup-dev: $(DONE)/dev $(DONE)/wheel ## the same, with the tools of `make test` and `make lint`

test: tools browser server setup-dev ## what every change needs: all tests but the whole, the slow and those that need root
	@$(call TESTS,test,--lib --bins --test allocation,-m "not slow and not root and not whole" $(WHOLES:%=--ignore=%))

# Reads the sources, so that nothing is built before.
quick: $(DONE)/dev ## while you work: the tests that import what differs from BASE, the last commit; mostly under 30 s
	@tests=$$($(BIN)/python scripts/tests_of_changes.py $(BASE)); [ -n "$$tests" ] || { echo "no test imports what differs from $(BASE)"; exit 0; }; \
	PYTHONPATH=src $(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not root and not whole" $$tests $(PYTEST)

# One worker makes the studies, each once (xdist's groups do nothing with this pytest), and the others do the rest.
# Results in memory if there is enough of it, as storing them safely takes most of the time on a disk.
test-whole: tools browser server setup-dev ## whole things: every shipped study to its report, real servers, commands end to end, pages in a browser
	@$(MEMORY:%=export TMPDIR=%;) $(call TESTS,test-whole,--test all --test timed,-m "whole and not slow and not root" $(WHOLES) $(MORE_WHOLES))

test-all: lint tools browser server cross setup-dev ## lint and every test, slow ones too (root ones are skipped without root)
	@$(call TESTS,test-all,-- --include-ignored,--hypothesis-profile=thorough)

lint: lint-python lint-rust ## style, types, arrows between packages, unused code, clippy; `make -j2 lint` does both halves at once

# Reads the sources, so that it need not wait until the wheel is built.
lint-python: $(DONE)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/python scripts/find_unused.py

lint-rust:
	cd load && cargo fmt --check
	cd load && $(CLIPPY)

bench: tools setup-dev ## the tool's own speed, against its peers where they are installed
	@for program in bench/*.py; do \
		echo "== $$program"; PYTHONPATH=src:. $(BIN)/python -m "bench.$$(basename "$$program" .py)" $(BENCH); done

docs: examples build/examples/gallery.html build/docs-venv/done ## build a site from docs/ with example reports, in build/site, and check its links
	@NO_MKDOCS_2_WARNING=1 build/docs-venv/bin/mkdocs build --config-file website/mkdocs.yml
	@echo "build/site/index.html; for the search, a server: python3 -m http.server --directory build/site"

examples: $(EXAMPLES:%=build/examples/%/done)

# Of contributed studies, the laptop's among them, and of the examples that others measured: nobody measured the rehearsed.
MEASURED = $(filter-out laptop cloud-report-2022,$(EXAMPLES))
build/examples/gallery.html: website/gallery.py $(wildcard docs/gallery/*/*) $(DONE)/dev $(MEASURED:%=build/examples/%/done)
	@PYTHONPATH=src:. $(BIN)/python website/gallery.py $@ docs/gallery \
		$(foreach name,$(MEASURED),$(wildcard build/examples/$(name)))

# Of README, tutorial and first page, from stored studies.
pictures: browser $(addprefix build/examples/,laptop/done postgres-gcp-2026/done postgresbench-2026/done) ## take the pictures of the pages
	@$(BIN)/python website/pictures.py build/examples

simulate: setup-dev ## error rates of leaderboards, up to 4,000 studies per cell, added to those of earlier runs
	@OPENBLAS_NUM_THREADS=1 PYTHONPATH=src:. nice $(BIN)/python -m bench.simulations $(SIMULATE)
	@scripts/regenerate

soak: setup-dev ## kill controllers and damage inputs for HOURS, added to the counts of earlier runs
	@PYTHONPATH=src:. nice -n 19 $(BIN)/python -m bench.soak --hours $(HOURS) $(SOAK)
	@scripts/regenerate

# Of Python packages by pip-audit, of crates by RustSec's database: both are fetched now, so this is no part of `make test`.
audit: setup-dev build/audit/venv/done ## compare the lock files with published advisories, and list licences
	@$(BIN)/python scripts/audit.py --pip-audit build/audit/venv/bin/pip-audit

# Programs of other machines lie in build/programs; scripts/build-load says where a compiler for another ARCH comes from.
HERE := $(shell uname -m)
ARCH ?= $(HERE)
CRATE := load/Cargo.toml load/Cargo.lock $(shell find load/src -type f) scripts/build-load
static: setup build/programs/static-$(ARCH) ## build a load generator for hosts reached over SSH, which needs no libraries; ARCH=aarch64: for Arm
	@install build/programs/static-$(ARCH) $(BIN)/nephoscope-load-static$(if $(filter-out $(HERE),$(ARCH)),-$(ARCH))

build/programs/static-%: $(CRATE)
	@scripts/build-load $* $@ static

build/programs/dynamic-%: $(CRATE)
	@scripts/build-load $* $@

# The wheels of a release. Each holds the load generator of its own architecture, and those without libraries for all.
ARCHES ?= x86_64 aarch64
wheels: $(DONE)/locked $(foreach arch,$(ARCHES),build/programs/static-$(arch) build/programs/dynamic-$(arch)) ## build wheels for PyPI into dist/, for x86-64 and Arm; ARCHES=x86_64: for one
	@for arch in $(ARCHES); do \
		NEPHOSCOPE_WHEEL="$$arch $(ARCHES)" $(PIP) wheel --no-deps --no-build-isolation --no-index --wheel-dir dist .; done
	@ls dist/*.whl

tools: ## install the measuring tools (fio, stress-ng ...) by apt, where that is allowed
	@scripts/debian-packages tools

cross:
	@scripts/debian-packages cross

browser:
	@scripts/debian-packages browser

server:
	@scripts/debian-packages server

lock: ## pin the newest versions of everything again (needs uv)
	@scripts/lock

clean: ## remove what was built; results stay
	rm -rf $(VENV) build dist load/target .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(DONE)/venv: scripts/make-venv
	@scripts/make-venv $(VENV)
	@mkdir -p $(DONE) && touch $@

# Beside pip, which waits for the network much of the time; the wheel's build hook then finds nothing left to build.
CARGO_BUILD := cargo build --release --locked --quiet --bin nephoscope-load --manifest-path load/Cargo.toml \
	--target-dir load/target

$(DONE)/locked: requirements.lock requirements-build.lock $(DONE)/venv
	@echo "installing requirements.lock into $(VENV), and building nephoscope-load (the first time takes a minute)"
	@$(CARGO_BUILD) & cargo=$$!; trap 'kill $$cargo 2>/dev/null || true' EXIT; \
	$(PIP) install --require-hashes --no-deps -r requirements-build.lock -r requirements.lock; wait $$cargo
	@touch $@

$(DONE)/dev: requirements-dev.lock $(DONE)/locked
	@echo "installing requirements-dev.lock into $(VENV)"
	@$(PIP) install --require-hashes --no-deps -r requirements-dev.lock
	@touch $@

# Without the wheel, as nothing is measured.
build/examples/%/done: $(SOURCES) website/examples.py docs/examples/laptop/results.tar.xz \
		$(wildcard docs/examples/*/* docs/examples/postgres*/data/*) $(DONE)/dev
	@PYTHONPATH=src:. $(BIN)/python website/examples.py build/examples $*
	@mkdir -p $(@D) && touch $@

build/audit/venv/done: $(DONE)/venv
	@$(BIN)/python -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install "pip-audit>=2.10,<3"
	@touch $@

# Apart from .venv, as MkDocs shares libraries with nephoscope. Not compiled, as one command runs once.
build/docs-venv/done: requirements-docs.lock $(DONE)/venv
	@echo "installing requirements-docs.lock into $(@D)"
	@$(BIN)/python -m venv --clear --without-pip $(@D)
	@$(PIP) --python $(@D) install --require-hashes --no-deps --no-compile -r requirements-docs.lock
	@touch $@

$(DONE)/wheel: $(SOURCES) $(DONE)/locked
	@echo "building the wheel of nephoscope (takes a minute if the load generator changed)"
	@rm -rf build/wheel
	@$(PIP) wheel --no-deps --no-build-isolation --no-index --wheel-dir build/wheel .
	@$(PIP) install --no-deps --no-index --force-reinstall build/wheel/*.whl
	@touch $@
