# The short way in. Every command first installs what is missing (tools/setup), and says nothing
# about it when nothing is. The builds themselves are CMake presets: see CONTRIBUTING.md.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo build check test slow times wheel bench peers studybench clusterbench evidence docs fuzz torture format lint clean

JOBS ?= $(shell nproc 2>/dev/null || echo 2)

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: build ## build, run a small study on a simulated market, and write its report
	@rm -rf build/demo
	@build/release/bin/sharpen study --preset demo --out build/demo
	@build/release/bin/sharpen report build/demo --table sharpe
	@build/release/bin/sharpen report build/demo --format html --out build/demo/report.html

build: ## build the program: build/release/bin/sharpen
	@tools/setup
	@tools/build release sharpen_app

check: ## build and run the quick tests, for daily work; only what changed is run again
	@tools/setup
	@tools/test check

test: ## build and run the tests: optimised, in Python, fuzzed shortly
	@tools/setup build fuzz python
	@tools/test release python $$(command -v clang++-14 >/dev/null && echo fuzz || \
		echo "no clang++-14 here: the readers are not fuzzed" >&2)

slow: ## build and run the tests that are slow by nature, and those under sanitizers (half an hour)
	@tools/setup build python browser
	@tools/test release-slow python-slow asan asan-slow tsan-slow cluster wheel

times: ## measure make check, test and slow in a fresh clone, without compiler cache (an hour)
	@tools/times

wheel: ## build a Python wheel that needs no other package: build/wheels
	@tools/setup build python
	@tools/wheel

bench: ## build and run the benchmarks, measure hostile inputs and the size of the code
	@tools/setup build size
	@tools/build release bench sharpen_app
	@tools/bench build/release
	@tools/bounds build/release/bin/sharpen
	@tools/size

peers: ## install the packages one would use instead, and measure against them (40 minutes)
	@tools/setup build python
	@bench/peers/run

studybench: ## time the study preset paper on a simulated market of 47 assets (many minutes)
	@tools/setup
	@tools/build release study_bench
	@build/release/bench/study_bench paper

clusterbench: ## time a study through Dask and Ray against threads of this machine (ten minutes)
	@tools/setup build python
	@tools/cluster-environment
	@tools/bench-cluster

evidence: ## print what docs/learning.md and docs/results.md show (two hours; it can be stopped)
	@tools/setup
	@tools/build release learning_evidence trading_evidence
	@build/release/bench/trading_evidence build/trading.tsv $(wildcard $(or $(SHARPEN_TEST_DATA),../shared/data))
	@build/release/bench/learning_evidence build/evidence.tsv

docs: ## build the references of the interfaces: build/docs/cpp and build/docs/python
	@tools/setup build python docs
	@tools/docs
	@tools/python-environment
	@rm -rf build/docs/python
	@python/reference build/docs/python
	@echo "Python: build/docs/python/index.html"

fuzz: ## fuzz the readers for five minutes each (FUZZ_SECONDS=n for n seconds)
	@tools/setup build fuzz
	@tools/fuzz $(FUZZ_SECONDS)

torture: ## disturb the program at random for a minute (SECONDS=n for n seconds, SEED=n)
	@tools/setup build size
	@tools/build release sharpen_app
	@tools/torture $(SECONDS) $(if $(SEED),--seed $(SEED))

format: ## rewrite the sources in the project's format
	@tools/setup build lint
	@git ls-files -z '*.cpp' '*.hpp' | xargs -0 clang-format -i

lint: ## check format and run clang-tidy over the library and the program
	@tools/setup build lint
	@tools/lint

clean: ## remove everything that was built
	@rm -rf build
