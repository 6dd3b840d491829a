# Springbloom as a plugin of RocksDB's Makefile (its plugin/README.md). RocksDB's CMake takes the function's name from here, and the rest from
# CMakeLists.txt: it would take a list of sources too, if that were assigned by a plain equals sign.
springbloom_SOURCES := inspect/index_size.cc inspect/listed_tables.cc inspect/lookup.cc inspect/table.cc \
  install/cache_charge.cc install/connection.cc install/elastic_table_factory.cc install/engine.cc install/install.cc \
  install/level_change_listener.cc install/springbloom.cc install/status.cc read/column_family.cc \
  read/elastic_table_reader.cc read/file_reader.cc read/lookup_digest.cc read/prefix_filter.cc read/seek_outcomes.cc read/stock_readers.cc \
  read/table_file.cc read/unit_table.cc read/whole_index.cc read/yielding_cache.cc \
  write/elastic_table_builder.cc
springbloom_HEADERS := springbloom.h
springbloom_CXXFLAGS := -std=c++20 -Iplugin/springbloom
springbloom_PKGCONFIG_REQUIRES := springbloom-host-core
springbloom_FUNC = springbloom_register_plugin
