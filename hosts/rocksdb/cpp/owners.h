// Owners of the Rust objects, so that C++ cannot leak or free them twice.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "abi.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace springbloom {

// Frees by a function of the core. A shared pointer that was made of null calls it, too.
template <auto kFree>
struct FreeBy {
  void operator()(auto* object) const {
    if (object != nullptr) {
      kFree(object);
    }
  }
};
using FiltersRelease = FreeBy<sb_filters_release>;
// Shared by factories, builders and readers; the last one lets go of the manager.
using FiltersRef = std::shared_ptr<const sb_filters>;

inline FiltersRef Share(const sb_filters* filters) {
  sb_filters_retain(filters);
  return FiltersRef(filters, FiltersRelease());
}

// That of option strings; null if there is none.
inline FiltersRef SharedInstance() { return FiltersRef(sb_filters_shared_instance_if_any(), FiltersRelease()); }

using BuilderPtr = std::unique_ptr<sb_builder, FreeBy<sb_builder_free>>;

inline sb_bytes Bytes(const rocksdb::Slice& s) { return sb_bytes{reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }

inline rocksdb::Slice ToSlice(const sb_bytes& bytes) {
  return rocksdb::Slice(reinterpret_cast<const char*>(bytes.data), bytes.size);
}

// 0 if `s` is OK; else 1, and the buffer says why not.
inline int Told(const rocksdb::Status& s, char* error, size_t error_size) {
  if (!s.ok()) {
    std::snprintf(error, error_size, "%s", s.ToString().c_str());
  }
  return s.ok() ? 0 : 1;
}

// `into` is a std::string*.
inline void TakeText(void* into, sb_bytes text) noexcept { *static_cast<std::string*>(into) = ToSlice(text).ToString(); }

// The settings in force, for a log.
inline std::string SettingsText(const sb_filters* filters) {
  std::string text;
  sb_filters_settings_text(filters, &text, &TakeText);
  return text;
}

}  // namespace springbloom
