// Puts our table factory into a `rocksdb_options_t`.
#include <cstdio>
#include <cstring>

#include "abi.h"
#include "install/c_options.h"
#include "install/elastic_table_factory.h"
#include "install/level_change_listener.h"

namespace {

int Refuse(char* error, size_t error_size, const std::string& message) {
  std::snprintf(error, error_size, "%s", message.c_str());
  return 1;
}

std::string NotBlockBased(const rocksdb::Options& options) {
  return std::string("filter units need the block-based table format, these options use \"") +
         (options.table_factory == nullptr ? "none" : options.table_factory->Name()) + "\"";
}

}  // namespace

extern "C" const sb_filters* springbloom_installed(void* rocksdb_options) noexcept {
  const auto& factory = springbloom::OptionsIn(rocksdb_options).table_factory;
  const auto* ours = factory == nullptr ? nullptr : factory->CheckedCast<springbloom::ElasticTableFactory>();
  return ours == nullptr ? nullptr : ours->Given();
}

extern "C" int springbloom_install(void* rocksdb_options, const sb_filters* filters, char* error, size_t error_size) noexcept {
  rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
  const rocksdb::BlockBasedTableOptions* table_options = springbloom::TableOptions(options);
  if (table_options == nullptr) {
    return Refuse(error, error_size, NotBlockBased(options));
  }
  springbloom_register();
  const springbloom::FiltersRef shared = springbloom::Share(filters);
  const auto factory = std::make_shared<springbloom::ElasticTableFactory>(*table_options, shared);
  const rocksdb::Status s = factory->Connect();
  if (!s.ok()) {
    return Refuse(error, error_size, s.ToString());
  }
  options.table_factory = factory;
  // Those of an instance that was installed before keep it alive for nothing.
  std::erase_if(options.listeners, [](const std::shared_ptr<rocksdb::EventListener>& listener) {
    return std::strcmp(listener->Name(), springbloom::LevelChangeListener::kClassName()) == 0;
  });
  options.listeners.push_back(std::make_shared<springbloom::LevelChangeListener>(shared));
  return 0;
}
