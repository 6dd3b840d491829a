// Owners of the Rust objects, so that C++ cannot leak or free them twice.
#pragma once

#include <memory>
#include <string>

#include "abi.h"
#include "rocksdb/slice.h"

namespace springbloom {

struct ElasticRelease {
  void operator()(const sb_elastic* e) const { sb_elastic_release(e); }
};
// Shared by factories, builders and readers; the last one lets go of the manager.
using ElasticRef = std::shared_ptr<const sb_elastic>;

inline ElasticRef Share(const sb_elastic* elastic) {
  sb_elastic_retain(elastic);
  return ElasticRef(elastic, ElasticRelease());
}

struct BuilderFree {
  void operator()(sb_builder* b) const { sb_builder_free(b); }
};
using BuilderPtr = std::unique_ptr<sb_builder, BuilderFree>;

inline sb_bytes Bytes(const rocksdb::Slice& s) {
  return sb_bytes{reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}

// The settings in force, for a log.
inline std::string SettingsText(const sb_elastic* elastic) {
  std::string text;
  sb_elastic_settings_text(elastic, &text, [](void* context, sb_bytes bytes) {
    static_cast<std::string*>(context)->assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
  });
  return text;
}

}  // namespace springbloom
