# SPDX-License-Identifier: Apache-2.0
# Thin fronts of the CMake presets. `make demo` and `make test` do all their own set-up on Debian 12.
.PHONY: help demo build test bench install format clean
PREFIX ?= /usr/local

help:
	@echo "make demo     install what is missing, build, and run the demonstration"
	@echo "make test     install what is missing, build, and run every test"
	@echo "make build    build the tool and the library into build/release/bin"
	@echo "make bench    build the benchmarks into build/bench/bin"
	@echo "make install  install into PREFIX ($(PREFIX))"
	@echo "make format   format the sources"

build:
	@scripts/install-packages build
	@cmake --preset release >/dev/null
	@cmake --build --preset release

demo: build
	@build/release/examples/spiral

test:
	@scripts/install-packages test
	@scripts/run-tests

bench:
	@scripts/install-packages bench
	@cmake --preset bench >/dev/null
	@cmake --build --preset bench
	@ls build/bench/bin/*_bench

install: build
	@cmake --install build/release --prefix $(PREFIX)

format:
	@scripts/check-format --fix

clean:
	@rm -rf build/dev build/asan build/tsan build/release build/bench
