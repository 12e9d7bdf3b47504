# The front door. Every target installs what it needs and lacks (tools/bootstrap.sh),
# sets up a build folder with meson, and does its work there.
#
#     make            build the library into build/, and the Python package into build/py
#     make demo       run the examples; pictures go to demo-output/
#     make test       all tests            make check    those that take under a minute
#     make asan       tests under the address and undefined-behaviour sanitizers
#     make tsan       tests under the thread sanitizer
#     make pythons    install the package with each CPython on the machine, test it with
#                     the oldest and the newest (tools/pythons.py)
#     make hostile    every allocation, file operation and loader call fails once
#     make fuzz       1,000,000 random Programs on all engines (FUZZ_PROGRAMS=...),
#                     200,000 as PTX in the simulator (FUZZ_PTX=...),
#                     5,000 computations with reductions, fused and not (FUZZ_FUSED=...),
#                     2,000 of these in Python, differentiated (FOLD_PROGRAMS=, FOLD_SEED=),
#                     10,000 with control flow in Python (FLOW_PROGRAMS=, FLOW_SEED=),
#                     10,000 that are differentiated (AD_PROGRAMS=, AD_SEED=),
#                     5,000 of each kind as frozen functions (FREEZE_PROGRAMS=),
#                     100,000 with state that changes between calls (STATE_PROGRAMS=),
#                     500 of these exported (STATE_EXPORTS=),
#                     20,000 on whole arrays, against NumPy (ARRAY_PROGRAMS=, ARRAY_SEED=);
#                     last of all, make fuzz-bytes
#     make fuzz-bytes files that anybody may have written: libFuzzer, which clang has, for
#                     ten minutes (FUZZ_SECONDS=), then each single-bit change of a corpus
#     make exhaustive errors of the math functions: every argument of f16 and f32, 10^8
#                     of f64; takes hours, goes on where it was stopped (ACCURACY_COUNT=)
#     make bench      measure; results go to bench/results/. Its halves: bench-core and
#                     bench-python; RELEASE=1 measures the wheel. MEASURES=... picks
#     make golden     write the golden files anew, to be reviewed with 'git diff'
#     make lint       layers, style, types: says nothing if all is well
#     make docs       write docs/reference.md, docs/python and docs/pictures anew, and
#                     build the site of docs/ into build/site
#     make wheel      the Python package with the library inside, as it is published: with
#                     profiles of what runs (tools/release.sh), into dist/
#     make wheels     a wheel for each CPython on the machine, named for manylinux, with
#                     checksums, into dist/ (tools/wheels.py)
#     make install    build the C library alone, and install it with its headers:
#                     PREFIX=/usr/local LIBDIR=lib DESTDIR=
#     make fresh      the README's two commands on a bare Debian, which it builds: needs
#                     root, debootstrap, a network and about an hour
#     make clean      remove what was built
#
# SUITE=quick restricts test, asan, tsan and fresh to the quick tests. SUITE=dist has those
# of drjit.dist, and installs Ray and MPI for them. SUITE=ptx has those of the PTX that is
# generated, with all that NVIDIA's tools are asked for, of which 'make test' takes a part.

BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=
SUITE ?=
RELEASE ?=
MEASURES ?=
FUZZ_PROGRAMS ?= 1000000
FUZZ_PTX ?= 200000
FUZZ_FUSED ?= 5000
FUZZ_SECONDS ?= 600
FOLD_PROGRAMS ?= 2000
FOLD_SEED ?= 1
FLOW_PROGRAMS ?= 10000
FLOW_SEED ?= 1
AD_PROGRAMS ?= 10000
AD_SEED ?= 1
FREEZE_PROGRAMS ?= 5000
FREEZE_SEED ?= 1
STATE_PROGRAMS ?= 100000
STATE_SEED ?= 1000
STATE_EXPORTS ?= 500
ARRAY_PROGRAMS ?= 20000
ARRAY_SEED ?= 1000
ACCURACY_COUNT ?= 100000000

# A recursive variable: bootstrap.sh may have put meson into .venv just before its use.
MESON = $(shell [ -x .venv/bin/meson ] && echo .venv/bin/meson || echo meson)
# The last word stands for all tests of the suite; given tests, any meson builds what they
# need and nothing else.
SUITE_ARGS = $(if $(SUITE),--suite $(SUITE) drjit-core:)
# Such builds take half the time like this, and find the same. Warnings are errors in other
# builds: gcc has wrong ones here.
SANITIZED = -Dtests=enabled -Dexamples=disabled -Db_lundef=false -Doptimization=1 \
    -Dc_args=-g1 -Dwerror=false
# The package is tested with the interpreter of .venv, where bootstrap.sh puts pytest.
PYTHON = -Dpython=enabled -Dpython_path=$(CURDIR)/.venv/bin/python

# $(call configure,FOLDER,OPTIONS,ENVIRONMENT): set a build folder up, or give it options
# it lacks.
define configure
@if [ ! -f $(1)/build.ninja ]; then \
    $(3) $(MESON) setup $(1) $(2) && echo '$(strip $(2))' > $(1)/options-of-make; \
elif ! grep -qxF -e '$(strip $(2))' $(1)/options-of-make; then \
    $(MESON) configure $(1) $(2) && echo '$(strip $(2))' >> $(1)/options-of-make; \
fi
endef

.PHONY: all build demo test check asan tsan hostile hostile-quick pythons fuzz fuzz-bytes \
        exhaustive bench bench-core bench-python golden lint docs wheel wheels install \
        fresh clean distclean

# The site. A link that leads nowhere is an error; a notice about the tool itself is not.
MKDOCS = NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --strict --quiet \
    --site-dir build/site

# Benchmarks beside each other would measure each other; ninja uses the cores.
.NOTPARALLEL:

all: build

build:
	@tools/bootstrap.sh build
	$(call configure,$(BUILD),-Dwerror=true)
	@ninja -C $(BUILD)

demo:
	@tools/bootstrap.sh demo
	$(call configure,$(BUILD),-Dexamples=enabled $(PYTHON))
	@ninja -C $(BUILD)
	@BUILD=$(BUILD) sh tools/demo.sh

test check:
	@tools/bootstrap.sh test python ptx $(filter dist,$(SUITE))
	$(call configure,$(BUILD),-Dtests=enabled $(PYTHON))
	@ninja -C $(BUILD)
	@$(if $(filter ptx,$(SUITE)),PTX_ALL=1) \
	    $(MESON) test -C $(BUILD) --no-rebuild --print-errorlogs \
	    $(if $(filter check,$@),--suite quick,$(SUITE_ARGS))

asan:
	@tools/bootstrap.sh test python
	$(call configure,build-asan,$(SANITIZED) $(PYTHON) -Db_sanitize=address$(,)undefined)
	@$(MESON) test -C build-asan --print-errorlogs -t 8 $(SUITE_ARGS)

tsan:
	@tools/bootstrap.sh test python
	$(call configure,build-tsan,$(SANITIZED) $(PYTHON) -Db_sanitize=thread)
	@$(MESON) test -C build-tsan --print-errorlogs -t 15 $(SUITE_ARGS)

hostile:
	@tools/bootstrap.sh test python
	$(call configure,build-hostile,$(SANITIZED) $(PYTHON) -Dhostile=true \
	    -Db_sanitize=address$(,)undefined)
	@$(MESON) test -C build-hostile --print-errorlogs -t 15 \
	    --suite quick --suite hostile drjit-core:

# The part of it that takes minutes: the quick tests, and the C library's own scenarios on
# one engine, whose log is beside that of the others.
hostile-quick:
	@tools/bootstrap.sh test python
	$(call configure,build-hostile,$(SANITIZED) $(PYTHON) -Dhostile=true \
	    -Db_sanitize=address$(,)undefined)
	@$(MESON) test -C build-hostile --print-errorlogs -t 15 --suite quick drjit-core:
	@DRJIT_TEST_ENGINE=interp $(MESON) test -C build-hostile --logbase hostilelog \
	    --print-errorlogs -t 15 hostile freeze_hostile ad_hostile

pythons:
	@tools/bootstrap.sh build
	@python3 tools/pythons.py

fuzz:
	@tools/bootstrap.sh test python
	$(call configure,$(BUILD),-Dtests=enabled $(PYTHON))
	@ninja -C $(BUILD)
	$(BUILD)/tests/fuzz_programs $(FUZZ_PROGRAMS)
	$(BUILD)/tests/fuzz_programs $(FUZZ_PTX) --engine ptx-sim,ptx-sim-any
	$(BUILD)/tests/fuzz_fused --count $(FUZZ_FUSED)
	PYTHONPATH=$(BUILD)/py FLOW_PROGRAMS=$(FLOW_PROGRAMS) FLOW_SEED=$(FLOW_SEED) \
	    DRJIT_CACHE_DIR= .venv/bin/python -m pytest -q -p no:cacheprovider \
	    tests/python/test_syntax_programs.py
	PYTHONPATH=$(BUILD)/py AD_PROGRAMS=$(AD_PROGRAMS) AD_SEED=$(AD_SEED) \
	    DRJIT_CACHE_DIR= .venv/bin/python -m pytest -q -p no:cacheprovider \
	    tests/python/test_ad_programs.py tests/python/test_ad_writes.py
	PYTHONPATH=$(BUILD)/py FREEZE_PROGRAMS=$(FREEZE_PROGRAMS) \
	    FREEZE_SEED=$(FREEZE_SEED) DRJIT_CACHE_DIR=$(BUILD)/tests/cache \
	    .venv/bin/python -m pytest -q -p no:cacheprovider \
	    tests/python/test_freeze_programs.py tests/python/test_freeze_loop_programs.py
	PYTHONPATH=$(BUILD)/py STATE_PROGRAMS=$(STATE_PROGRAMS) STATE_SEED=$(STATE_SEED) \
	    DRJIT_CACHE_DIR=$(BUILD)/tests/cache .venv/bin/python -m pytest -q \
	    -p no:cacheprovider tests/python/test_freeze_state.py
	PYTHONPATH=$(BUILD)/py STATE_EXPORTS=$(STATE_EXPORTS) STATE_SEED=$(STATE_SEED) \
	    DRJIT_CACHE_DIR= .venv/bin/python -m pytest -q -p no:cacheprovider \
	    tests/python/test_export_state.py
	PYTHONPATH=$(BUILD)/py ARRAY_PROGRAMS=$(ARRAY_PROGRAMS) ARRAY_SEED=$(ARRAY_SEED) \
	    DRJIT_CACHE_DIR= .venv/bin/python -m pytest -q -p no:cacheprovider \
	    tests/python/test_array_programs.py
	PYTHONPATH=$(BUILD)/py FOLD_PROGRAMS=$(FOLD_PROGRAMS) FOLD_SEED=$(FOLD_SEED) \
	    DRJIT_CACHE_DIR= .venv/bin/python -m pytest -q -p no:cacheprovider \
	    tests/python/test_fold_programs.py
	@$(MAKE) --no-print-directory fuzz-bytes

fuzz-bytes:
	@tools/bootstrap.sh test fuzz
	$(call configure,build-fuzz,$(SANITIZED) -Dpython=disabled -Dlibfuzzer=true \
	    -Db_sanitize=address$(,)undefined,CC=clang CXX=clang++)
	@ninja -C build-fuzz bytes
	tools/fuzz_bytes.sh build-fuzz $(FUZZ_SECONDS)

# All types are measured, even if the first shows a violation.
exhaustive:
	@tools/bootstrap.sh test
	$(call configure,$(BUILD),-Dtests=enabled)
	@ninja -C $(BUILD)
	@mkdir -p $(BUILD)/accuracy
	@status=0; accuracy="$(BUILD)/tests/accuracy --state $(BUILD)/accuracy \
	    --json $(BUILD)/accuracy/results.jsonl"; \
	$$accuracy --type f16 --exhaustive --count $(ACCURACY_COUNT) || status=1; \
	$$accuracy --type f32 --exhaustive --count $(ACCURACY_COUNT) || status=1; \
	$$accuracy --type f64 --count $(ACCURACY_COUNT) || status=1; \
	exit $$status

bench: bench-core bench-python

bench-core:
	@tools/bootstrap.sh bench python
	$(call configure,$(BUILD),-Dwerror=true $(PYTHON))
	@ninja -C $(BUILD)
	.venv/bin/python bench/run.py $(MEASURES)

# The build folder has the program that tells how parallel the machine is.
bench-python: $(if $(RELEASE),wheel)
	@tools/bootstrap.sh bench python
	$(call configure,$(BUILD),-Dwerror=true $(PYTHON))
	@ninja -C $(BUILD)
	.venv/bin/python bench/run_python.py $(if $(RELEASE),--release) $(MEASURES)

golden:
	@tools/bootstrap.sh test
	$(call configure,$(BUILD),-Dtests=enabled)
	@ninja -C $(BUILD)
	$(BUILD)/tests/test_golden --update

lint:
	@tools/bootstrap.sh lint python
	@python3 tools/lint_layers.py
	@python3 tools/lint_style.py
	@python3 tools/make_docs.py --check
	@python3 tools/make_checked.py --check
	@$(MKDOCS)
	@.venv/bin/ruff check --quiet tools src bench packaging python tests/python \
	    tests/cuda/oracle examples
	@.venv/bin/python -m mypy --no-error-summary tools src/lower/math packaging \
	    tests/cuda/oracle $(wildcard bench/*.py)
	@.venv/bin/python tools/make_stubs.py --mypy
	@! command -v cppcheck >/dev/null || tools/cppcheck.sh

docs:
	@tools/bootstrap.sh docs python
	python3 tools/make_checked.py
	$(call configure,$(BUILD),$(PYTHON))
	@ninja -C $(BUILD)
	python3 tools/make_docs.py
	PYTHONPATH=$(BUILD)/py .venv/bin/python tools/make_reference.py
	python3 tools/make_pictures.py
	PYTHONPATH=$(BUILD)/py DRJIT_LOG_LEVEL=warn .venv/bin/python \
	    tools/make_pictures.py --examples
	$(MKDOCS)

wheel:
	@tools/bootstrap.sh python
	@tools/release.sh dist

wheels:
	@tools/bootstrap.sh python
	@.venv-wheel/bin/python tools/wheels.py

# The folder is set up as by 'make', whose tests and examples are not built here.
install:
	@tools/bootstrap.sh build
	$(call configure,$(BUILD),-Dwerror=true)
	@echo '$(PREFIX) $(LIBDIR)' | cmp -s - $(BUILD)/prefix-of-make || \
	    { $(MESON) configure $(BUILD) -Dprefix='$(PREFIX)' -Dlibdir='$(LIBDIR)' && \
	      echo '$(PREFIX) $(LIBDIR)' > $(BUILD)/prefix-of-make; }
	@echo 'make install: libdrjit-core and its headers, pkg-config and CMake files go to' \
	    '$(DESTDIR)$(PREFIX) (the Python package: pip install .)'
	@ninja -C $(BUILD) library
	@folder='$(DESTDIR)'; case $$folder in ''|/*) ;; *) folder=$$PWD/$$folder ;; esac; \
	    DESTDIR=$$folder $(MESON) install -C $(BUILD) --no-rebuild
	@# The dynamic linker has to learn of a library in a folder that it searches.
	@[ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || PATH="$$PATH:/sbin" ldconfig

fresh:
	tools/fresh.sh $(SUITE)

clean:
	rm -rf $(BUILD) build-asan build-tsan build-hostile build-fuzz build-pythons \
	    build-release build-pip build-wheels .mesonpy-* dist

distclean: clean
	rm -rf .venv .venv-* demo-output

, := ,
