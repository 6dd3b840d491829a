// Puts our table factory into a `rocksdb_options_t`, and makes the id "springbloom" known to RocksDB's option strings.
#include <cstring>

#include "abi.h"
#include "install/c_options.h"
#include "install/elastic_table_factory.h"
#include "install/level_change_listener.h"
#include "rocksdb/utilities/object_registry.h"

namespace {

rocksdb::Status Install(rocksdb::Options* options, const springbloom::FiltersRef& filters) {
  const auto* table_options = springbloom::TableOptions(*options);
  if (table_options == nullptr) {
    const char* format = options->table_factory == nullptr ? "none" : options->table_factory->Name();
    return rocksdb::Status::InvalidArgument("springbloom: filter units need the block-based table format, these options use",
                                            format);
  }
  springbloom_register();
  const auto factory = std::make_shared<springbloom::ElasticTableFactory>(*table_options, filters);
  const rocksdb::Status s = factory->Connect();
  if (!s.ok()) {
    return s;
  }
  options->table_factory = factory;
  // Those of an instance that was installed before keep it alive for nothing.
  std::erase_if(options->listeners, [](const std::shared_ptr<rocksdb::EventListener>& listener) {
    return std::strcmp(listener->Name(), springbloom::LevelChangeListener::kClassName()) == 0;
  });
  options->listeners.push_back(std::make_shared<springbloom::LevelChangeListener>(filters));
  return s;
}

// Gives how many.
int AddFactories(rocksdb::ObjectLibrary& library) {
  library.AddFactory<rocksdb::TableFactory>(
      springbloom::ElasticTableFactory::kId, [](const std::string&, std::unique_ptr<rocksdb::TableFactory>* guard, std::string*) {
        guard->reset(new springbloom::ElasticTableFactory(rocksdb::BlockBasedTableOptions()));
        return guard->get();
      });
  library.AddFactory<rocksdb::EventListener>(
      springbloom::LevelChangeListener::kId,
      [](const std::string&, std::unique_ptr<rocksdb::EventListener>* guard, std::string*) {
        guard->reset(new springbloom::LevelChangeListener(nullptr));
        return guard->get();
      });
  return 2;
}

}  // namespace

extern "C" void springbloom_register(void) noexcept {
  static const int once = AddFactories(*rocksdb::ObjectLibrary::Default());
  (void)once;
}

// Of a RocksDB that is built with Springbloom as a plugin (springbloom.mk): RocksDB's build generates the declaration and the call.
extern "C" int springbloom_register_plugin(rocksdb::ObjectLibrary& library, const std::string&) { return AddFactories(library); }

extern "C" const sb_filters* springbloom_installed(void* rocksdb_options) noexcept {
  const auto& factory = springbloom::OptionsIn(rocksdb_options).table_factory;
  const auto* ours = factory == nullptr ? nullptr : factory->CheckedCast<springbloom::ElasticTableFactory>();
  return ours == nullptr ? nullptr : ours->Given();
}

extern "C" int springbloom_install(void* rocksdb_options, const sb_filters* filters, char* error, size_t error_size) noexcept {
  const rocksdb::Status s = Install(&springbloom::OptionsIn(rocksdb_options), springbloom::Share(filters));
  return springbloom::Told(s, error, error_size);
}
