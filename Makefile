# SPDX-License-Identifier: Apache-2.0
# Thin fronts of the CMake presets. `make demo` and `make test` do all their own set-up on Debian 12.
.PHONY: help demo build test test-slow test-kill test-full test-sanitizers fuzz-onnx check-onnx bench check-torch bench-torch demo-onnx install format clean
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600

help:
	@echo "make demo     install what is missing, build, and run the demonstration"
	@echo "make demo-onnx   fine-tune a pretrained ONNX file in half of the memory that takes"
	@echo "make test     install what is missing, build, and run every test"
	@echo "make test-slow   ten times the random planning problems and damaged files of make test"
	@echo "make test-full   the built-in models at full size: what they take, and every budget bit for bit (half an hour, 3 GB)"
	@echo "make test-kill   thirty times: kill a training run at a random moment, and resume it"
	@echo "make test-sanitizers   all rooms under ASan and UBSan, the engine's threads under TSan (half an hour)"
	@echo "make check-onnx   the cases that come with ONNX: passed, failed and unsupported, by operator"
	@echo "make fuzz-onnx   any bytes as an ONNX file under ASan and UBSan, for FUZZ_SECONDS ($(FUZZ_SECONDS))"
	@echo "make build    build the tool and the library into build/release/bin"
	@echo "make bench    build the benchmarks into build/bench/bin"
	@echo "make check-torch   compare built-in models and exported ONNX files with PyTorch: losses and gradients"
	@echo "make bench-torch   time and memory of the built-in models against PyTorch's"
	@echo "make install  install into PREFIX ($(PREFIX))"
	@echo "make format   format the sources"

build:
	@scripts/install-packages build
	@cmake --preset release >/dev/null
	@cmake --build --preset release

demo: build
	@scripts/demo

demo-onnx: build
	@scripts/install-packages demo-onnx
	@scripts/demo-onnx

test:
	@scripts/install-packages test
	@scripts/run-tests

test-slow:
	@scripts/install-packages test
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev --target plan_test onnx_test
	@REPRISE_TEST_FACTOR=10 build/dev/bin/plan_test
	@REPRISE_TEST_FACTOR=10 build/dev/bin/onnx_test --gtest_filter='OnnxHostile.*:OnnxStranger.*'

test-full:
	@scripts/install-packages test
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev --target train_test cli_test
	@REPRISE_FULL_MODELS=1 build/dev/bin/cli_test --gtest_filter='*EveryModel.TakesTheBudget*'
	@REPRISE_FULL_MODELS=1 build/dev/bin/train_test --gtest_filter='*BuiltIn.GivesTheSameBits*'

test-kill:
	@scripts/install-packages test
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev --target cli_test
	@REPRISE_TEST_FACTOR=10 build/dev/bin/cli_test --gtest_filter='TrainFaults.Killed*'

test-sanitizers:
	@scripts/install-packages test
	@scripts/run-sanitizers

check-onnx:
	@scripts/install-packages test
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev --target onnx_test
	@build/dev/bin/onnx_test --gtest_brief=1 --gtest_filter='OnnxConformance.*'

fuzz-onnx:
	@scripts/install-packages fuzz
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz --target onnx_fuzz
	@mkdir -p build/fuzz/corpus
	@OMP_NUM_THREADS=1 build/fuzz/bin/onnx_fuzz -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=2048 -max_len=4096 \
	  -artifact_prefix=build/fuzz/ build/fuzz/corpus tests/onnx/corpus /usr/share/libonnx-testdata/data/node

bench:
	@scripts/install-packages build
	@cmake --preset bench >/dev/null
	@cmake --build --preset bench
	@ls build/bench/bin/*_bench

check-torch: build
	@scripts/install-packages torch
	@bench/check_torch.py build/release/bin/reprise
	@bench/check_onnx.py build/release/bin/reprise

bench-torch: build
	@scripts/install-packages torch
	@bench/bench_torch.py build/release/bin/reprise

install: build
	@cmake --install build/release --prefix $(PREFIX)

format:
	@scripts/check-format --fix

clean:
	@rm -rf build/dev build/asan build/tsan build/release build/bench build/fuzz
