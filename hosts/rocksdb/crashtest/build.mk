# Compiles RocksDB's stress tool and unit tests with Springbloom's table factory as the default, and its benchmark and tools with
# Springbloom as a plugin. Called by `build` beside it, which gives
#
#   FLAVOUR    release: RocksDB as cargo built it; assertions: RocksDB compiled here, without NDEBUG; address, thread: so too, under a
#              sanitizer
#   OUT        the folder of this flavour
#   SYS        the folder of librocksdb-sys, with RocksDB's sources
#   INCLUDES   the compression libraries' folders of headers
#   ARCHIVE    the static library of the host, as cargo built it
#   CPU        flags that choose the processor, as cargo's build of RocksDB has them
#   SANITIZER  the sanitizer's runtime that comes with the Rust compiler: clang's may be too old for what that compiles; address, thread
#
# An interrupted build resumes where it was.

R := $(SYS)/rocksdb
HERE := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
HOST := $(HERE)/../cpp
CORE := $(HERE)/../../core/include
CXX := clang++
OPT_address := -O1 -fsanitize=address -fno-omit-frame-pointer -gline-tables-only
OPT_thread := -O1 -fsanitize=thread -fno-omit-frame-pointer -gline-tables-only
OPT := $(or $(OPT_$(FLAVOUR)),-O0)

# RocksDB's headers mean something else with NDEBUG and without: one flavour never links the other's objects.
DEFINES_release := -DNDEBUG
DEFINES_assertions := -DROCKSDB_USE_RTTI
# As librocksdb-sys's build script has them.
DEFINES := $(or $(DEFINES_$(FLAVOUR)),$(DEFINES_assertions)) \
  -DHAVE_ALIGNED_NEW -DHAVE_UINT128_EXTENSION -DSNAPPY=1 -DLZ4=1 -DZSTD=1 -DZLIB=1 -DBZIP2=1 \
  -DOS_LINUX -DROCKSDB_PLATFORM_POSIX -DROCKSDB_LIB_IO_POSIX -DROCKSDB_SCHED_GETCPU_PRESENT -DROCKSDB_AUXV_GETAUXVAL_PRESENT \
  -DROCKSDB_FALLOCATE_PRESENT -DROCKSDB_RANGESYNC_PRESENT -DGFLAGS=gflags
GTEST := $(R)/third-party/gtest-1.8.1/fused-src
FLAGS := -std=c++20 $(OPT) -w -include cstdint $(CPU) $(DEFINES) -isystem $(R) -isystem $(R)/include -isystem $(GTEST) \
  -I $(SYS) -I $(SYS)/snappy $(addprefix -I ,$(INCLUDES))

# RocksDB's objects depend on how they are compiled, its sources never change: another release is another folder. A new checkout is no
# reason to compile them again.
COMPILE := $(CXX) $(FLAGS)
O := $(OUT)/objects
SOURCES_IN_PART := 12
$(shell mkdir -p $(O); for line in '$(COMPILE) $(SOURCES_IN_PART)'; do echo "$$line" | cmp -s - $(OUT)/compile || echo "$$line" > $(OUT)/compile; done; \
  cmp -s $(HERE)/headers.h $(OUT)/headers.h || cp $(HERE)/headers.h $(OUT)/headers.h)

STRESS := $(patsubst $(R)/%.cc,%,$(wildcard $(R)/db_stress_tool/*.cc))
STRESS += test_util/testutil test_util/mock_time_env
TEST_SUPPORT := db/db_test_util db/db_with_timestamp_test_util table/mock_table test_util/mock_time_env test_util/secondary_cache_test_util \
  test_util/testharness test_util/testutil utilities/agg_merge/test_agg_merge utilities/cassandra/test_utils \
  third-party/gtest-1.8.1/fused-src/gtest/gtest-all
# The linker wraps no call within an object: sources of wrapped functions are objects of their own.
ALONE := db/db_impl/db_impl_open options/options table/block_based/block_based_table_factory
# Several sources to an object compile several times faster; RocksDB sees to it that all of them could be one.
PARTS := $(notdir $(shell rm -rf $(OUT)/parts; mkdir -p $(OUT)/parts; grep -v util/build_version.cc $(SYS)/rocksdb_lib_sources.txt | \
  sed 's/.*/\#include "&"/; $(foreach source,$(ALONE),s,.*"$(source).cc",,;)' | split -l $(SOURCES_IN_PART) - $(OUT)/parts/; ls $(OUT)/parts))
SNAPPY := snappy snappy-sinksource snappy-c
TESTS := $(shell sed '/^#/d' $(HERE)/unit-tests.txt)

in = $(patsubst %,$(O)/%.o,$(1))
HOST_OBJECTS := $(patsubst $(HOST)/%.cc,$(O)/host/%.o,$(wildcard $(HOST)/*.cc $(HOST)/*/*.cc))
HOST_SOURCES := $(wildcard $(HOST)/*.cc $(HOST)/*.h $(HOST)/*/*.cc $(HOST)/*/*.h $(CORE)/*.h)

# The stress tool and the tests link these libraries beside their own objects. With assertions, all of RocksDB and of the host is here as
# objects; the linker then takes Rust and the compression libraries from the archive, which has RocksDB without assertions.
LIBRARY := $(call in,$(addprefix parts/,$(PARTS)) $(ALONE) build_version $(addprefix snappy/,$(SNAPPY)))
LIBRARIES_release := $(ARCHIVE)
LIBRARIES_assertions := $(HOST_OBJECTS) $(LIBRARY) $(ARCHIVE)
LIBRARIES := $(or $(LIBRARIES_$(FLAVOUR)),$(LIBRARIES_assertions))
# Whoever makes a block-based table factory gets ours, and whoever opens a database gets our listener: default_factory.cc.
comma := ,
WRAP := $(patsubst %,-Wl$(comma)--wrap=%,$(shell sed -n 's|.*"__wrap_\(.*\)".*|\1|p' $(HERE)/default_factory.cc))

LINK = $(CXX) $(filter-out -fsanitize=%,$(OPT)) $^ $(WRAP) $(if $(SANITIZER),-Wl$(comma)--whole-archive $(SANITIZER) -Wl$(comma)--no-whole-archive \
  -Wl$(comma)--export-dynamic) -lgflags -latomic -lpthread -ldl -lrt -lm

# RocksDB's benchmark and tools, as RocksDB's build makes them with ROCKSDB_PLUGINS=springbloom: what that build adds to RocksDB itself is
# the plugin's function in build_version.cc.
TOOL_LIB := tools/ldb_cmd tools/ldb_tool tools/sst_dump_tool tools/io_tracer_parser_tool utilities/blob_db/blob_dump_tool \
  db_stress_tool/db_stress_compression_manager
SOURCES_db_bench := tools/db_bench tools/db_bench_tool tools/tool_hooks tools/simulated_hybrid_file_system test_util/testutil
SOURCES_ldb := tools/ldb $(TOOL_LIB)
SOURCES_sst_dump := tools/sst_dump $(TOOL_LIB)
TOOLS := db_bench ldb sst_dump
PLUGIN_FUNCTION := $(shell sed -n 's/^springbloom_FUNC = //p' $(HOST)/springbloom.mk)

.PHONY: db_stress flush_hang tests tools library archive
db_stress: $(OUT)/db_stress
flush_hang: $(OUT)/flush_hang
library: $(LIBRARY)
archive: $(OUT)/rocksdb/librocksdb.a
tools: $(addprefix $(OUT)/,$(TOOLS))
tests: $(patsubst %,$(OUT)/tests/%,$(notdir $(TESTS)))
.SECONDARY:
.DELETE_ON_ERROR:

$(O)/headers.pch: $(OUT)/headers.h $(OUT)/compile
	@$(COMPILE) -x c++-header $< -o $@

define compile
@mkdir -p $(@D)
@echo "compile $(FLAVOUR) $(patsubst $(O)/%.o,%,$@)"
@$(COMPILE) $(RENAMED) -include-pch $(O)/headers.pch -c $< -o $@
endef
# librocksdb-sys has this function too, in build_version.cc.
RENAMED = -DRocksDbIOUringEnable=RocksDbIOUringEnableHere
$(O)/build_version.o: RENAMED =

$(O)/%.o: $(R)/%.cc $(O)/headers.pch
	$(compile)
$(O)/parts/%.o: $(O)/headers.pch
	@mkdir -p $(@D)
	@echo "compile $(FLAVOUR) RocksDB, part $* of $(words $(PARTS))"
	@$(COMPILE) -include-pch $(O)/headers.pch -x c++ -c $(OUT)/parts/$* -o $@
$(O)/build_version.o: $(SYS)/build_version.cc $(O)/headers.pch
	$(compile)
$(O)/snappy/%.o: $(SYS)/snappy/%.cc $(O)/headers.pch
	$(compile)
$(O)/host/%.o: $(HOST)/%.cc $(HOST_SOURCES) $(O)/headers.pch
	@mkdir -p $(@D)
	@echo "compile $(FLAVOUR) host/$*"
	@$(COMPILE) -I$(HOST) -I$(CORE) -include-pch $(O)/headers.pch -c $< -o $@
$(O)/default_factory.o: $(HERE)/default_factory.cc $(HOST_SOURCES) $(O)/headers.pch
	@echo "compile $(FLAVOUR) default_factory"
	@$(COMPILE) -I$(HOST) -I$(CORE) -include-pch $(O)/headers.pch -c $< -o $@

# RocksDB for cargo (ROCKSDB_LIB_DIR). librocksdb-sys brings Snappy itself, rust-librocksdb-sys does not.
$(OUT)/rocksdb/librocksdb.a: $(if $(findstring /rust-librocksdb-sys-,$(SYS)),$(LIBRARY),$(filter-out $(O)/snappy/%,$(LIBRARY)))
	@mkdir -p $(@D)
	@rm -f $@
	@ar rcs $@ $^

$(OUT)/db_stress: $(call in,$(STRESS) default_factory) $(LIBRARIES)
	@echo "link $(FLAVOUR) db_stress"
	@$(LINK) -o $@

# With the stock table factory.
$(O)/flush_hang.o: $(HERE)/flush_hang.cc $(O)/headers.pch
	$(compile)
$(OUT)/flush_hang: WRAP =
$(OUT)/flush_hang: $(O)/flush_hang.o $(filter-out $(HOST_OBJECTS),$(LIBRARIES))
	@echo "link $(FLAVOUR) flush_hang"
	@$(LINK) -o $@

# Optimised, for they measure, and so without the precompiled headers.
$(O)/tools/%.o: $(R)/%.cc $(OUT)/compile
	@mkdir -p $(@D)
	@echo "compile $(FLAVOUR) $*"
	@$(COMPILE) -O2 $(RENAMED) -c $< -o $@
$(O)/plugin_build_version.o: $(SYS)/build_version.cc $(HOST)/springbloom.mk $(OUT)/compile
	@{ echo '#include "rocksdb/utilities/object_registry.h"'; \
	  echo 'extern "C" int $(PLUGIN_FUNCTION)(rocksdb::ObjectLibrary&, const std::string&);'; \
	  sed 's/\(ObjectRegistry::builtins_ =\) {};/\1 {{"springbloom", $(PLUGIN_FUNCTION)}};/' $<; } >$(O)/plugin_build_version.cc
	@$(COMPILE) -c $(O)/plugin_build_version.cc -o $@

define tool
$(OUT)/$(1): $(patsubst %,$(O)/tools/%.o,$(SOURCES_$(1))) $(O)/plugin_build_version.o $(ARCHIVE)
	@echo "link $(FLAVOUR) $$(@F)"
	@$(CXX) $$^ -lgflags -latomic -lpthread -ldl -lm -o $$@
endef
$(foreach name,$(TOOLS),$(eval $(call tool,$(name))))

define test
$(OUT)/tests/$(notdir $(1)): $(call in,$(1) $(TEST_SUPPORT) default_factory) $(LIBRARIES)
	@mkdir -p $$(@D)
	@echo "link $(FLAVOUR) $$(@F)"
	@$$(LINK) -o $$@
endef
$(foreach source,$(TESTS),$(eval $(call test,$(source))))
