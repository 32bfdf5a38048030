# What a person types on a fresh clone. Each target makes the environment that it needs, below .venv*.
#
#   make demo       train BERT on real sentences, without PyTorch (DEMO_ARGS="--size mini" and so on)
#   make test       the tests, without PyTorch, against committed snapshots
#   make test-live  the tests beside the real PyTorch, which is then asked directly
#   make test-mindspore  the tests that concern MindSpore, on MindSpore itself (800 MB) instead of a stand-in
#   make pytorch-suite  PyTorch's own test files on this package (PYTORCH_TESTS=folder, SUITE_ARGS="test_torch --why")
#   make model-families  small models of all of transformers' families on this package, beside the real PyTorch (FAMILIES_ARGS="BertModel --why")
#   make transformers-suite  transformers' own tests on this package (TRANSFORMERS_TESTS=folder, FAMILIES_ARGS="bert llama --why")
#   make test-opdb  PyTorch's operator database on this package, beside the real PyTorch (OPDB_ARGS="--column vmap --why")
#   make ecosystem  programs of many libraries on this package and on the real PyTorch (ECOSYSTEM_ARGS="vision.timm")
#   make bench      speed against the real PyTorch
#   make gpu-check  values, speed and training on a GPU, beside PyTorch for CUDA where python3 has it (docs/cuda.md)
#   make check      formatting, lint, types
#   make sanitize   the operator tests on a build with the address and undefined-behaviour sanitizers
#   make fuzz       bad arguments to every operator, on that build (FUZZ_ARGS="--calls 100 --seed 7")
#   make tsan       what runs in threads, on a build with the thread sanitizer
#   make fuzz-TARGET  a coverage-guided search, by clang's libFuzzer or atheris (docs/trust.md; FUZZ_ARGS="--seconds 600")
#   make faults     each allocation and system call of a program fails once (FAULT_ARGS="--programs save")
#   make kills      processes killed at random moments (KILL_ARGS="--rounds 100 --kinds save")
#   make ranks      ranks of a training killed, stopped, delayed and cut off at random moments (RANKS_ARGS="--rounds 40")
#   make soak       mixed work for MINUTES (60); nothing may grow
#   make fuzz-library  made-up schemas and calls, on that build (FUZZ_ARGS="--schemas 1000000 --calls 1000000")
#   make mutants    planted faults, and whether the tests catch them (MUTANTS_ARGS="--seed 7 --areas optim --count 50")
#   make stubs      type stubs, from the operator rows
#   make map        the drawing and the table of docs/map.md, from the code's imports
#   make snapshots  expected values, from the real PyTorch
#   make wheels     wheels for each Python and processor (WHEELS_ARGS="--python 3.11 --machine aarch64")
#   make test-wheel a wheel in a new Debian without a compiler (as root, with debootstrap)
#   make test-aarch64  tests with the ARM wheel, under qemu
#   make site       the documentation as a site, its links checked
#   make clean      removes environments and builds

PYTHON ?= python3
PYTEST_ARGS ?=
# Tests at a time: more than eight wait for memory. A file stays with one process, which compiles what its tests share.
TEST_JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 8 ? n : 8)))
DEMO_ARGS ?=
BENCH_ARGS ?=
SUITE_ARGS ?=
FAMILIES_ARGS ?=
OPDB_ARGS ?=
ECOSYSTEM_ARGS ?= --record
FUZZ_ARGS ?=
MUTANTS_ARGS ?=
FAULT_ARGS ?=
KILL_ARGS ?=
MINUTES ?= 60
WHEELS_ARGS ?=
SITE_ARGS ?=
PYTORCH ?= torch==2.13.0

# Sources and build files: a change in one of them means a new build.
SOURCES := $(shell find src csrc emulator -type f \( -name '*.py' -o -name '*.pyi' -o -name '*.cpp' -o -name '*.h' -o -name '*.cuh' \
	-o -name '*.tsv' -o -name '*.jsonl' \) 2>/dev/null) \
           $(wildcard CMakeLists.txt pyproject.toml)

PIP = $(@D)/bin/python -m pip install --quiet --disable-pip-version-check
RUN = env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE

.PHONY: gpu-check help demo test test-live test-mindspore pytorch-suite model-families transformers-suite ecosystem test-opdb bench check sanitize tsan fuzz fuzz-library faults kills ranks soak mutants stubs map snapshots wheels test-wheel test-aarch64 site clean environment

help:
	@sed -n "s/^#   //p" $(firstword $(MAKEFILE_LIST))

demo: .venv/demo
	$(RUN) .venv/bin/python -m mindtorch_v2 examples/bert_docstrings/train.py $(DEMO_ARGS)

environment: .venv/test

test: .venv/test
	$(RUN) .venv/bin/python -m pytest tests -n $(TEST_JOBS) --dist loadfile $(PYTEST_ARGS)

test-live: .venv-live/test
	$(RUN) .venv-live/bin/python -m pytest tests --live $(PYTEST_ARGS)

test-mindspore: .venv-mindspore/test
	$(RUN) .venv-mindspore/bin/python -m pytest tests/interop tests/design/test_framework.py $(PYTEST_ARGS)

pytorch-suite: .venv-live/test
	.venv-live/bin/python -m pip install --quiet --disable-pip-version-check expecttest
	$(RUN) .venv-live/bin/python -m tests.pytorch_suite $(SUITE_ARGS)

model-families: .venv-live/test
	$(RUN) .venv-live/bin/python -m tests.model_families $(FAMILIES_ARGS)

transformers-suite: .venv-live/test
	.venv-live/bin/python -m pip install --quiet --disable-pip-version-check datasets parameterized sentencepiece
	$(RUN) .venv-live/bin/python -m tests.transformers_suite $(FAMILIES_ARGS)

test-opdb: .venv-live/test
	$(RUN) .venv-live/bin/python -m tests.operator_database $(OPDB_ARGS)
ecosystem: .venv-ecosystem/libraries
	$(RUN) .venv-ecosystem/bin/python -m tests.ecosystem $(ECOSYSTEM_ARGS)

bench: .venv-live/test
	$(RUN) .venv-live/bin/python benchmarks/run.py $(BENCH_ARGS)

snapshots: .venv-live/test
	.venv-live/bin/python tools/make_training_snapshots.py
	.venv-live/bin/python tools/make_snapshots.py
	.venv-live/bin/python -m pytest tests --record

map:
	$(PYTHON) tools/draw_map.py

gpu-check: .venv/demo
	$(RUN) .venv/bin/python -m mindtorch_v2.cuda doctor
	$(RUN) .venv/bin/python tools/gpu_check.py --out gpu-ours.json
	! python3 -c "import torch; assert torch.cuda.is_available()" 2>/dev/null || { \
	  python3 tools/gpu_check.py --package torch --out gpu-pytorch.json && \
	  .venv/bin/python tools/gpu_check.py --compare gpu-ours.json gpu-pytorch.json; }

check: .venv-check/tools
	PATH="$(CURDIR)/.venv-check/bin:$$PATH" scripts/check

sanitize: .venv/test
	$(RUN) scripts/sanitize .venv/bin/python $(PYTEST_ARGS)

fuzz: .venv/test
	$(RUN) scripts/sanitize .venv/bin/python fuzz $(FUZZ_ARGS)

fuzz-library: .venv/test
	$(RUN) scripts/sanitize .venv/bin/python fuzz-library $(FUZZ_ARGS)

tsan: .venv/test
	SANITIZER=thread $(RUN) scripts/sanitize .venv/bin/python $(PYTEST_ARGS)

fuzz-%: .venv/test
	$(RUN) scripts/fuzz .venv/bin/python $* $(FUZZ_ARGS)

faults: .venv/test
	MINDTORCH_CUDA_EMULATOR=1 $(RUN) .venv/bin/python -m mindtorch_v2.npu emulate -- python -m tools.faults $(FAULT_ARGS)

kills: .venv/test
	$(RUN) .venv/bin/python -m tools.endurance.kills $(KILL_ARGS)

ranks: .venv/test
	$(RUN) .venv/bin/python -m tools.endurance.ranks $(RANKS_ARGS)

soak: .venv/test
	$(RUN) .venv/bin/python -m mindtorch_v2.npu emulate -- python -m tools.endurance.soak --minutes $(MINUTES)

mutants: .venv/test
	scripts/build
	PYTHONPATH=src $(RUN) .venv/bin/python -m tools.mutants $(MUTANTS_ARGS)

stubs: .venv/test
	.venv/bin/python tools/make_stubs.py

wheels: .venv-wheels/tools
	.venv-wheels/bin/python -m tools.wheels $(WHEELS_ARGS)

test-wheel:
	$(PYTHON) -m tools.wheels.fresh_root $(WHEELS_ARGS)

test-aarch64: .venv-wheels/tools
	.venv-wheels/bin/python -m tools.wheels.emulated $(PYTEST_ARGS)

site: .venv/test requirements/site.txt
	.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/site.txt
	.venv/bin/python -m tools.site $(SITE_ARGS)

.venv-wheels/tools: requirements/wheels.txt | .venv-wheels/bin/python
	$(PIP) -r requirements/wheels.txt
	touch $@

clean:
	rm -rf .venv .venv-live .venv-mindspore .venv-ecosystem .venv-check .venv-wheels build build-*-sanitizer build-fuzz build-faults dist out

%/bin/python:
	$(PYTHON) -m venv $*

# An environment's python is a link to the system's: its age says nothing.
.SECONDARY:

.venv/package .venv-live/package .venv-mindspore/package .venv-ecosystem/package: %/package: $(SOURCES) | %/bin/python
	$(@D)/bin/python scripts/install_package
	touch $@

.venv/demo: .venv/package requirements/demo.txt
	$(PIP) -r requirements/demo.txt
	touch $@

.venv/test: .venv/package requirements/test.txt
	$(PIP) -r requirements/test.txt
	$(PIP) --no-deps accelerate
	touch $@

.venv-live/test: .venv-live/package requirements/test.txt
	$(PIP) -r requirements/test.txt
	$(PIP) $(PYTORCH)
	$(PIP) --no-deps accelerate
	touch $@

# Libraries that name torch as a requirement come without their requirements, which stand in the other list.
.venv-ecosystem/libraries: .venv-ecosystem/package requirements/ecosystem.txt requirements/ecosystem-needs.txt
	$(PIP) $(PYTORCH)
	$(PIP) -r requirements/ecosystem-needs.txt
	$(PIP) --no-deps -r requirements/ecosystem.txt
	touch $@

.venv-mindspore/test: .venv-mindspore/package requirements/test.txt
	$(PIP) -r requirements/test.txt
	$(PIP) "mindtorch_v2[mindspore]"  # the package is there already: what it asks for
	$(PIP) --no-deps accelerate
	touch $@

.venv-check/tools: requirements/check.txt | .venv-check/bin/python
	$(PIP) -r requirements/check.txt
	touch $@
