// Makes the id "springbloom" known to RocksDB's option strings.
#include "rocksdb/utilities/object_registry.h"

#include "install/elastic_table_factory.h"
#include "install/level_change_listener.h"

namespace {

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
