# The commands of candor. Each makes the environments that it needs, once, and again when their locks change.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help environments demo repro test lint format schema lock

PYTHON := python3.11
DEVICE := cpu
CORES := all
TORCH_CPU_INDEX := https://download.pytorch.org/whl/cpu

CONTROLLER := .venv/.installed
MODEL := .venv-model/.installed-$(DEVICE)

# DVC's stages and the linters find their programs by name.
export PATH := $(CURDIR)/.venv/bin:$(PATH)

help:
	@echo 'make demo          run the whole chain on a CPU, with config/demo.yaml (minutes)'
	@echo 'make repro         the same through DVC'
	@echo 'make test          every test'
	@echo 'make environments  the two virtual environments; DEVICE=gpu for NVIDIA GPUs'
	@echo 'make lint format   check, or lay out, the code'
	@echo 'make schema        write config/schema.json'
	@echo 'make lock          resolve envs/*.in to envs/*.txt again; UPGRADE=--upgrade for the newest'

environments: $(CONTROLLER) $(MODEL)

demo: environments
	snakemake --cores $(CORES) --rerun-incomplete
	@echo 'Confidence: results/tables/confidence_metrics.md, results/figures/calibration_*.png'
	@echo 'Multiple choice: results/tables/mcq_nonsenseqa_moved.md (table 5),'
	@echo '                 results/figures/mcq_nonsenseqa_moved_sl-sd-ml-md.png (figure 13)'

repro: environments
	dvc repro

# First, of the unit tests, those that need what only the model environment has; its engines spend half of their time in one
# thread. Then the longest files first.
test: environments
	.venv-model/bin/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder tests/model \
		$(foreach name, answers_real_outputs answers_xml grade_answers hotpotqa hub json_repair math_data math_grading \
		mutated_outputs responding rewards, tests/unit/test_$(name).py)
	.venv/bin/python -m pytest --numprocesses logical --dist loadfile --no-loadscope-reorder tests/workflow tests/unit
	.venv/bin/python -m pytest tests/e2e

lint: $(CONTROLLER)
	ruff check
	ruff format --check
	snakefmt --check Snakefile rules
	lint-imports
	.venv/bin/python scripts/write_configuration_schema.py --output config/schema.json --check

format: $(CONTROLLER)
	ruff check --fix
	ruff format
	snakefmt Snakefile rules

schema: $(CONTROLLER)
	.venv/bin/python scripts/write_configuration_schema.py --output config/schema.json

# --- Environments: docs/environments.md -------------------------------------------------------------------------------

# $(call virtual_environment,FOLDER): a failed attempt has no `.installed` and is gone on with.
define virtual_environment
	@$(PYTHON) -c 'import sys, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' || { \
		echo 'candor needs Python 3.11 with venv, called $(PYTHON) (make PYTHON=/path/to/python3.11 names another).' >&2; exit 1; }
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
endef

$(CONTROLLER): envs/controller.txt pyproject.toml
	$(call virtual_environment,.venv)
	.venv/bin/python -m pip install --no-deps --requirement envs/controller.txt
	.venv/bin/python -m pip install --no-deps --editable .
	touch $@

$(MODEL): envs/model-$(DEVICE).txt pyproject.toml
	@case $(DEVICE) in cpu) other=gpu;; gpu) other=cpu;; *) echo 'DEVICE is cpu or gpu' >&2; exit 1;; esac; \
		test ! -e .venv-model/.installed-$$other || { \
		echo ".venv-model was made with DEVICE=$$other; move it away first, the two cannot share a folder." >&2; exit 1; }
	$(call virtual_environment,.venv-model)
ifeq ($(DEVICE),cpu)
# Alone, since pip would ask PyTorch's index for every package of the lock. The registry's torch is the CUDA build.
	.venv-model/bin/python -m pip install --no-deps --extra-index-url $(TORCH_CPU_INDEX) "$$(grep '^torch==' $<)"
endif
	.venv-model/bin/python -m pip install --no-deps --requirement $<
	.venv-model/bin/python -m pip install --no-deps --editable .
	@.venv-model/bin/python -c 'import torch' || { \
		echo 'torch does not load. On a CPU it must be the CPU build, from $(TORCH_CPU_INDEX).' >&2; exit 1; }
	touch $@

# --- Locks: the same for everybody, so nothing of the machine's own settings --------------------------------------------

COMPILE := env -u UV_FIND_LINKS -u UV_INDEX -u UV_DEFAULT_INDEX -u UV_EXTRA_INDEX_URL -u UV_CONSTRAINT -u UV_OVERRIDE \
	../.venv/bin/python -m uv pip compile --no-config --quiet --custom-compile-command 'make lock' \
	--python-version 3.11 --python-platform x86_64-unknown-linux-gnu $(UPGRADE)

lock: $(CONTROLLER)
	.venv/bin/python -m pip install uv==0.13.9
	cd envs && $(COMPILE) controller.in --output-file controller.txt
	cd envs && $(COMPILE) --excludes excludes.txt model-gpu.in --output-file model-gpu.txt
	cd envs && $(COMPILE) --excludes excludes.txt --excludes excludes-cpu.txt --overrides overrides-cpu.txt \
		model-cpu.in --output-file model-cpu.txt
	for lock in controller model-cpu model-gpu; do \
		{ echo '#!/bin/bash'; \
		echo "# Written by \`make lock\` from $$lock.txt: what conda's environment lacks, by pip."; \
		echo 'set -euo pipefail'; \
		test $$lock != model-cpu || \
			echo "python -m pip install --no-deps --extra-index-url $(TORCH_CPU_INDEX) $$(grep '^torch==' envs/$$lock.txt)"; \
		echo "python -m pip install --no-deps --requirement /dev/stdin <<'LOCK'"; \
		grep -v '^ *#' envs/$$lock.txt; \
		echo LOCK; } > envs/$$lock.post-deploy.sh; done
