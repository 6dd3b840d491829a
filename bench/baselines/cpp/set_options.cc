// Changes options of all column families of a database in one call, for which the C interface has none: each call writes and checks the
// options of all of them.
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

#include "rocksdb/db.h"

// As the C interface of the pinned release has them.
struct rocksdb_t {
  rocksdb::DB* rep;
};
struct rocksdb_column_family_handle_t {
  rocksdb::ColumnFamilyHandle* rep;
  bool immortal;
};

// Gives 0 on success, else a message in `error`.
extern "C" int springbloom_baselines_set_options(void* db, void* const* families, size_t family_count, const char* const* names,
                                                 const char* const* values, size_t option_count, char* error,
                                                 size_t error_size) noexcept {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (size_t i = 0; i < family_count; ++i) {
    handles.push_back(static_cast<rocksdb_column_family_handle_t*>(families[i])->rep);
  }
  std::unordered_map<std::string, std::string> options;
  for (size_t i = 0; i < option_count; ++i) {
    options[names[i]] = values[i];
  }
  const rocksdb::Status s = static_cast<rocksdb_t*>(db)->rep->SetOptions(handles, options);
  std::snprintf(error, error_size, "%s", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
