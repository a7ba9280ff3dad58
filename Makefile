# fp4check: one Makefile, no recursion. `make help` lists the targets.
#
#   make V=1               show commands
#   make CC=clang          another compiler
#   make OPT=-O0           another optimisation level
#   make SANITIZE=address,undefined
#   make WERROR=1          warnings are errors (tests and CI)
#   make CUDA=0|1          leave nvcc out | insist on it (default: use it when it is there)

VERSION := 0.1.0
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
OPT ?= -O2
PKG_CONFIG ?= pkg-config
PREFIX ?= /usr/local
prefix ?= $(PREFIX)
DESTDIR ?=
V ?= 0
WERROR ?= 0
SANITIZE ?=
CROSS ?=
BUILD ?= build
CUDA ?=
SHELL := /bin/bash
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

ifeq ($(V),1)
Q :=
SAY := @:
else
Q := @
SAY := @printf '  %-8s %s\n'
endif

# ---- flags: the exact-arithmetic ones come last, so that no CFLAGS of the user can undo them ---------------------------------------

PKGS := libcjson libxxhash libzstd
DEP_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null)
DEP_LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null)
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings \
	-Wvla -Wformat=2
ifeq ($(WERROR),1)
WARN += -Werror
endif
SAN_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
EXACT := -std=c17 -ffp-contract=off
INCLUDES := -Ireference -Icli -Icli/commands -Icli/matrix -Icli/backends -Icli/dump -Icli/diff -Icli/diagnose -Icli/report -Icli/term -Icli/probe -Icli/explain -Icli/stat
BASE_CFLAGS := $(OPT) $(WARN) $(CFLAGS) $(SAN_FLAGS) -D_GNU_SOURCE -DFP4_VERSION='"$(VERSION)"' \
	-DFP4_BUILD_FLAGS='"$(strip $(OPT) $(CFLAGS) $(SAN_FLAGS))"' -pthread
REF_CFLAGS := $(BASE_CFLAGS) -Ireference $(EXACT)
CLI_CFLAGS := $(BASE_CFLAGS) $(INCLUDES) $(DEP_CFLAGS) $(EXACT)
ALL_LDFLAGS := $(LDFLAGS) $(SAN_FLAGS) -pthread

# What a user passes is searched for flags that change arithmetic.
FORBIDDEN := -Ofast -ffast-math -funsafe-math-optimizations -ffinite-math-only -fno-signed-zeros -fassociative-math \
	-freciprocal-math -ffp-contract=fast -ffp-contract=on -mfpmath=387
ifneq ($(filter $(FORBIDDEN),$(OPT) $(CFLAGS) $(CC)),)
$(error fp4check compares bits and is not built with $(filter $(FORBIDDEN),$(OPT) $(CFLAGS) $(CC)))
endif

# ---- CUDA: found or not, and said -------------------------------------------------------------------------------------------------

ifeq ($(origin NVCC),undefined)
NVCC := $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
endif
ifeq ($(CUDA),1)
ifeq ($(NVCC),)
$(error CUDA=1, but nvcc is neither on PATH nor in /usr/local/cuda/bin)
endif
endif
ifeq ($(CUDA),0)
override NVCC :=
endif
CUDA_HOME := $(if $(NVCC),$(abspath $(dir $(realpath $(NVCC)))/..))

# What the fat binary holds: machine code for each, and PTX for GPUs to come.
CUDA_ARCHS ?= sm_80 sm_90 sm_100a sm_103a sm_120a sm_121a
NVCC_FLAGS := -std=c++17 --fmad=false -O3 -Xcompiler -Wall -Ireference -Ikernels -DFP4_CUDA_ARCHS='"$(CUDA_ARCHS)"' \
	$(foreach a,$(CUDA_ARCHS),-gencode arch=$(a:sm_%=compute_%),code=$(a)) -gencode arch=compute_90,code=compute_90
CUDA_SRC := $(if $(NVCC),$(sort $(wildcard kernels/*.cu)))
CUDA_OBJ := $(CUDA_SRC:%.cu=$(BUILD)/obj/%.o)
CUDA_LIBS := $(if $(NVCC),-L$(CUDA_HOME)/lib64 -lcudart_static -ldl -lrt -lstdc++)
# EMULATE=1: the kernels' source on the CPU, for tests (tests/emulate): blocks as fibers, no nvcc.
EMULATE ?= 0
ifeq ($(EMULATE),1)
override NVCC :=
CUDA_SRC := $(sort $(wildcard kernels/*.cu))
CUDA_OBJ := $(CUDA_SRC:kernels/%.cu=$(BUILD)/obj/emulated/%.o) $(BUILD)/obj/emulated/emulate.o
CUDA_LIBS := -lstdc++
CLI_CFLAGS += -DFP4_HAVE_CUDA -Ikernels
endif
ifneq ($(NVCC),)
CLI_CFLAGS += -DFP4_HAVE_CUDA -Ikernels
endif

# ---- files --------------------------------------------------------------------------------------------------------------------------

REF_SRC := $(sort $(wildcard reference/*.c))
CLI_SRC := $(sort $(wildcard cli/*.c cli/*/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
REF_OBJ := $(REF_SRC:%.c=$(BUILD)/obj/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/obj/%.o)
LIB_OBJ := $(filter-out $(BUILD)/obj/cli/main.o,$(CLI_OBJ))
UNIT_OBJ := $(UNIT_SRC:%.c=$(BUILD)/obj/%.o)
WEIGHTS := cli/matrix/weights/minilm-slice.safetensors.zst
RCP_TABLE := cli/backends/data/rcp_approx_ftz_h200.i8.zst

.PHONY: all demo demo-run test test-run check check-run unit conformance cli-tests fuzz fuzz-replay sanitize portability aarch64 oracle emulate \
	exhaustive statistics sass sass-deps golden bench install dist clean deps ensure-deps ensure-test-deps help format lint print-nvcc

all: $(BUILD)/fp4check ## build build/fp4check

# Objects are made again when the command line that made them changes.
FLAGS_TEXT := $(CC) $(CLI_CFLAGS) $(ALL_LDFLAGS) $(DEP_LIBS) $(NVCC) $(if $(NVCC),$(NVCC_FLAGS))
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@printf '%s\n' '$(subst ','\'',$(FLAGS_TEXT))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS_TEXT))' > $@
FORCE:

$(BUILD)/obj/reference/%.o: reference/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY) CC $<
	$(Q)$(CC) $(REF_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/obj/cli/%.o: cli/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY) CC $<
	$(Q)$(CC) $(CLI_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/obj/kernels/%.o: kernels/%.cu $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY) NVCC $<
	$(Q)$(NVCC) $(NVCC_FLAGS) -MD -MF $(@:.o=.d) -MP -c $< -o $@

EMULATE_CXX = $(CXX) -std=c++17 -O1 -g -ffp-contract=off -w $(SAN_FLAGS) -DFP4_CUDA_ARCHS='"emulated"' -Itests/emulate/include \
	-I$(BUILD)/emulated -Ireference -include cuda_runtime.h
$(BUILD)/emulated/stamp: tests/emulate/prepare.py $(wildcard kernels/*.cu kernels/*.cuh kernels/*.h kernels/isa/*.cuh)
	@mkdir -p $(@D)
	$(Q)python3 tests/emulate/prepare.py kernels $(BUILD)/emulated && touch $@

$(BUILD)/obj/emulated/emulate.o: tests/emulate/emulate.cpp tests/emulate/include/cuda_runtime.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY) CXX $<
	$(Q)$(EMULATE_CXX) -c $< -o $@

$(BUILD)/obj/emulated/%.o: $(BUILD)/emulated/stamp $(wildcard tests/emulate/include/*.h reference/*.h) $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY) CXX $(BUILD)/emulated/$*.cpp
	$(Q)$(EMULATE_CXX) -c $(BUILD)/emulated/$*.cpp -o $@

$(BUILD)/tests/emulated-products: tests/emulate/products.cpp $(BUILD)/obj/emulated/emulate.o $(BUILD)/emulated/stamp $(BUILD)/libfp4ref.a
	@mkdir -p $(@D)
	$(SAY) CXX $<
	$(Q)$(EMULATE_CXX) -O2 -o $@ $< $(BUILD)/obj/emulated/emulate.o $(BUILD)/libfp4ref.a -lm

# .incbin is not seen by -MMD
$(BUILD)/obj/cli/matrix/embed.o: $(WEIGHTS)
$(BUILD)/obj/cli/backends/rcp_data.o: $(RCP_TABLE)

$(BUILD)/obj/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY) CC $<
	$(Q)$(CC) $(filter-out -Wmissing-prototypes,$(CLI_CFLAGS)) -Itests/unit $(shell $(PKG_CONFIG) --cflags criterion 2>/dev/null) -MMD -MP -c $< -o $@

$(BUILD)/libfp4ref.a: $(REF_OBJ)
	$(SAY) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $(REF_OBJ)

$(BUILD)/libfp4check.a: $(LIB_OBJ) $(CUDA_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/fp4check: $(BUILD)/obj/cli/main.o $(BUILD)/libfp4check.a $(BUILD)/libfp4ref.a
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DEP_LIBS) $(CUDA_LIBS) -lm
	$(if $(NVCC)$(filter 1,$(EMULATE)),@true,@echo 'built without CUDA: nvcc was not found (or CUDA=0); CPU backends only')

$(BUILD)/tests/unit: $(UNIT_OBJ) $(BUILD)/libfp4check.a $(BUILD)/libfp4ref.a
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs criterion) $(DEP_LIBS) $(CUDA_LIBS) -lm

$(BUILD)/tests/conformance: $(BUILD)/obj/tests/conformance/conformance.o $(BUILD)/libfp4check.a $(BUILD)/libfp4ref.a
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DEP_LIBS) $(CUDA_LIBS) -lm

$(BUILD)/tests/time_four: $(BUILD)/obj/tests/bench/time_four.o $(BUILD)/libfp4ref.a
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lm
-include $(BUILD)/obj/tests/bench/time_four.d

# The program with backends that are wrong on purpose: another registry.c, so that nothing of the library's is taken.
FAULTY_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard tests/faulty/*.c))) \
	$(if $(NVCC),$(patsubst %.cu,$(BUILD)/obj/%.o,$(wildcard tests/faulty/*.cu)))
$(BUILD)/obj/tests/faulty/%.o: tests/faulty/%.cu $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY) NVCC $<
	$(Q)$(NVCC) $(NVCC_FLAGS) -MD -MF $(@:.o=.d) -MP -c $< -o $@

$(BUILD)/tests/fp4check-faulty: $(BUILD)/obj/cli/main.o $(FAULTY_OBJ) $(BUILD)/libfp4check.a $(BUILD)/libfp4ref.a
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DEP_LIBS) $(CUDA_LIBS) -lm

# A stand-in for Transformer Engine's library, whole and with functions missing: tests/fakete.
FAKETE := $(addprefix $(BUILD)/tests/,libfakete.so libfakete-old.so libfakete-part.so)
FAKETE_REF := $(REF_SRC:reference/%.c=$(BUILD)/obj/fakete/%.o)
$(BUILD)/obj/fakete/%.o: reference/%.c $(wildcard reference/*.h) $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT) -fPIC -fvisibility=hidden -D_GNU_SOURCE -Ireference $(EXACT) -c $< -o $@
$(BUILD)/tests/libfakete-old.so: FAKETE_FLAGS := -DFAKETE_OLD
$(BUILD)/tests/libfakete-part.so: FAKETE_FLAGS := -DFAKETE_PART
$(FAKETE): tests/fakete/fakete.cpp $(FAKETE_REF)
	@mkdir -p $(@D)
	$(SAY) CXX $@
	$(Q)$(CXX) -std=c++17 -O1 -Wall -Wextra -fPIC -fvisibility=hidden $(FAKETE_FLAGS) -Ireference -shared -o $@ $^ -lm

$(BUILD)/tests/philox_device: $(BUILD)/obj/tests/gpu/philox_device.o $(BUILD)/libfp4check.a $(BUILD)/libfp4ref.a
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DEP_LIBS) $(CUDA_LIBS) -lm

$(BUILD)/tests/replay_dump: $(BUILD)/obj/tests/fuzz/fuzz_dump.o $(BUILD)/obj/tests/fuzz/replay_main.o $(BUILD)/libfp4check.a $(BUILD)/libfp4ref.a
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DEP_LIBS) $(CUDA_LIBS) -lm

-include $(if $(NVCC),$(CUDA_OBJ:.o=.d)) $(FAULTY_OBJ:.o=.d) $(REF_OBJ:.o=.d) $(CLI_SRC:%.c=$(BUILD)/obj/%.d) $(UNIT_SRC:%.c=$(BUILD)/obj/%.d) \
	$(patsubst %.c,$(BUILD)/obj/%.d,$(wildcard tests/conformance/*.c tests/fuzz/*.c tests/stat/*.c tests/gpu/*.c))

# ---- the README's two commands --------------------------------------------------------------------------------------------------------

# The demonstration is of the CPU backends, so it never waits for nvcc: with CUDA about it has a folder of its own.
DEMO_BUILD := $(if $(NVCC),build/cpu,build)
demo: ensure-deps ## set up, build, run the default suite on the CPU and compare with golden/
	$(Q)$(MAKE) --no-print-directory -j2 CUDA=0 BUILD=$(DEMO_BUILD) $(DEMO_BUILD)/fp4check
	$(Q)$(MAKE) --no-print-directory CUDA=0 BUILD=$(DEMO_BUILD) demo-run

demo-run: $(BUILD)/fp4check
	@echo; echo '$$ $(BUILD)/fp4check run --suite default --backend ref -o $(BUILD)/demo.json'
	$(Q)$(BUILD)/fp4check run --suite default --backend ref -o $(BUILD)/demo.json
	@echo; echo '$$ $(BUILD)/fp4check verify --backend ref golden/'
	$(Q)$(BUILD)/fp4check verify --backend ref golden/
	@echo; echo '$$ $(BUILD)/fp4check diff golden/ref-default.json $(BUILD)/demo.json'
	$(Q)$(BUILD)/fp4check diff golden/ref-default.json $(BUILD)/demo.json

test: ensure-deps ensure-test-deps ## set up and pass all tests
	$(Q)$(MAKE) --no-print-directory WERROR=1 test-run

test-run:
	$(Q)tests/run-all.sh

check: ensure-deps ensure-test-deps ## the fast tests: unit, conformance, command line, corpus, golden
	$(Q)$(MAKE) --no-print-directory WERROR=1 check-run

check-run: unit conformance cli-tests statistics fuzz-replay golden

# ---- pieces of the tests ------------------------------------------------------------------------------------------------------------------

UNIT_ARGS ?=
unit: $(BUILD)/tests/unit ## unit tests (Criterion)
	$(Q)FP4_SRCDIR=. $(BUILD)/tests/unit --short-filename -j$(or $(JOBS),2) $(UNIT_ARGS)

VECTORS ?= tests/conformance/vectors
conformance: $(BUILD)/tests/conformance ## vectors made by others
	$(Q)$(BUILD)/tests/conformance $(VECTORS)

cli-tests: $(BUILD)/fp4check $(BUILD)/tests/fp4check-faulty $(FAKETE) $(if $(NVCC),$(BUILD)/tests/philox_device) ## end-to-end tests of the command line
	$(Q)tests/cli/run-tests.sh $(BUILD)/fp4check

$(BUILD)/tests/honest: $(BUILD)/obj/tests/stat/honest.o $(BUILD)/libfp4check.a $(BUILD)/libfp4ref.a
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DEP_LIBS) $(CUDA_LIBS) -lm

SEEDS ?= 200
statistics: $(BUILD)/tests/honest ## whether --statistical keeps its error rate and finds faults, SEEDS=200
	$(Q)$(BUILD)/tests/honest $(SEEDS)

fuzz-replay: $(BUILD)/tests/replay_dump
	$(Q)$(BUILD)/tests/replay_dump tests/fuzz/corpus/dump tests/cli/malformed

golden: $(BUILD)/fp4check ## compare with the committed dumps
	$(Q)$(BUILD)/fp4check verify golden/

sanitize: ## ASan and UBSan: unit tests, vectors, command line, corpus
	$(Q)FP4_TEST_STRIDE=99991 $(MAKE) --no-print-directory CUDA=0 BUILD=build/sanitize SANITIZE=address,undefined OPT=-O1 SEEDS=20 check-run

portability: ## the same bytes from gcc -O0 and -O3, clang, and aarch64
	$(Q)tests/portability.sh

aarch64: ## build build/aarch64/fp4check for Arm (cross compiler and libraries are set up below build/)
	$(Q)tests/aarch64-build.sh -O2 build/aarch64

STRIDE ?= 4093
$(BUILD)/tests/oracle_%: tests/oracle/oracle_%.cpp $(BUILD)/libfp4ref.a
	@mkdir -p $(@D)
	$(SAY) CXX $<
	$(Q)$(CXX) -O2 -std=c++17 -ffp-contract=off -pthread -Ireference -I$(CUDA_HOME)/include -o $@ $< $(BUILD)/libfp4ref.a \
		-L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 $(if $(findstring curand,$@),-lcurand) -lm

emulate: ## the kernels' source run on the CPU and compared with the reference
	$(Q)$(MAKE) --no-print-directory -j2 EMULATE=1 BUILD=build/emulate build/emulate/fp4check build/emulate/tests/emulated-products
	$(Q)build/emulate/tests/emulated-products
	$(Q)tests/emulate/compare.sh build/emulate/fp4check

oracle: $(if $(NVCC),$(BUILD)/tests/oracle_cuda $(BUILD)/tests/oracle_curand) ## the CUDA toolkit's host conversions and generator as oracles
ifeq ($(NVCC),)
	@echo 'oracle: skipped, no CUDA toolkit (or CUDA=0)'
else
	$(Q)$(BUILD)/tests/oracle_cuda $(STRIDE)
	$(Q)$(BUILD)/tests/oracle_curand
endif

sass: ## what the compiler made of the ISA layers: disassembled, counted, checked
	$(Q)NVCC='$(NVCC)' tests/sass/sass-test.sh $(BUILD)/obj/kernels || [ $$? = 77 ]

sass-deps: ## the disassembler for `make sass`, from PyPI into build/venv, where the toolkit came without
	$(Q)command -v nvdisasm >/dev/null && command -v cuobjdump >/dev/null || { python3 -m venv build/venv && \
		build/venv/bin/pip install --quiet nvidia-cuda-nvdisasm nvidia-cuda-cuobjdump; }

exhaustive: ## all 2^32 floats against the CUDA toolkit's host conversions, and the long unit sweeps
	$(Q)$(MAKE) --no-print-directory oracle STRIDE=1
	$(Q)FP4_TEST_STRIDE=1 $(MAKE) --no-print-directory unit UNIT_ARGS='--timeout 7200'

FUZZ_SECONDS ?= 60
fuzz: ## libFuzzer on the dump reader, FUZZ_SECONDS=60
	$(Q)$(MAKE) --no-print-directory CC=clang BUILD=build/fuzz SANITIZE=fuzzer-no-link,address,undefined OPT=-O1 build/fuzz/fuzz_dump
	@mkdir -p build/fuzz/corpus
	$(Q)build/fuzz/fuzz_dump -max_total_time=$(FUZZ_SECONDS) -dict=tests/fuzz/dump.dict -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 \
		build/fuzz/corpus tests/fuzz/corpus/dump

$(BUILD)/fuzz_dump: $(BUILD)/obj/tests/fuzz/fuzz_dump.o $(BUILD)/libfp4check.a $(BUILD)/libfp4ref.a
	$(SAY) LINK $@
	$(Q)$(CC) -fsanitize=fuzzer,address,undefined -pthread -o $@ $^ $(DEP_LIBS) $(CUDA_LIBS) -lm

bench: $(BUILD)/fp4check ## time the reference, and the kernels where a GPU is
	$(Q)$(BUILD)/fp4check bench
	$(Q)if $(BUILD)/fp4check list backends | grep -q '^soft *runs here'; then $(BUILD)/fp4check bench -b soft; fi

format: ## clang-format everything
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h' '*.cpp' '*.cu' '*.cuh')

lint: ## clang-format as a check
	$(Q)clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h' '*.cpp' '*.cu' '*.cuh')

# ---- install --------------------------------------------------------------------------------------------------------------------------------

install: $(BUILD)/fp4check $(BUILD)/libfp4ref.a ## install program, library, manual and completions (prefix, DESTDIR)
	install -d $(DESTDIR)$(prefix)/bin $(DESTDIR)$(prefix)/lib $(DESTDIR)$(prefix)/include $(DESTDIR)$(prefix)/share/man/man1 \
		$(DESTDIR)$(prefix)/share/bash-completion/completions $(DESTDIR)$(prefix)/share/zsh/site-functions
	install -m 755 $(BUILD)/fp4check $(DESTDIR)$(prefix)/bin/fp4check
	install -m 644 $(BUILD)/libfp4ref.a $(DESTDIR)$(prefix)/lib/libfp4ref.a
	install -m 644 reference/fp4ref.h reference/fp4four.h reference/fp4gemm.h $(DESTDIR)$(prefix)/include
	install -m 644 docs/fp4check.1 $(DESTDIR)$(prefix)/share/man/man1/fp4check.1
	$(BUILD)/fp4check completion bash > $(DESTDIR)$(prefix)/share/bash-completion/completions/fp4check
	$(BUILD)/fp4check completion zsh > $(DESTDIR)$(prefix)/share/zsh/site-functions/_fp4check

dist: ## a source archive of HEAD
	git archive --prefix=fp4check-$(VERSION)/ -o fp4check-$(VERSION).tar.gz HEAD

clean: ## remove build/
	rm -rf build

# ---- packages (Debian, Ubuntu) ---------------------------------------------------------------------------------------------------------------

DEPS := build-essential pkg-config libcjson-dev libxxhash-dev libzstd-dev
TEST_DEPS := libcriterion-dev clang gcc-aarch64-linux-gnu qemu-user-static valgrind python3 python3-jsonschema zstd man-db
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

deps: ## install what is missing (apt)
	$(Q)tests/install-deps.sh $(DEPS) $(TEST_DEPS)

ensure-deps:
	$(Q)$(PKG_CONFIG) --exists $(PKGS) 2>/dev/null && command -v $(CC) >/dev/null || tests/install-deps.sh $(DEPS)

ensure-test-deps:
	$(Q)tests/install-deps.sh $(DEPS) $(TEST_DEPS)

print-nvcc:
	@echo '$(NVCC)'

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16
