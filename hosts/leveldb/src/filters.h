// The filters that options select, and owners of what the core gives.
#pragma once

#include <memory>
#include <string>

#include "leveldb/comparator.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"
#include "springbloom_abi.h"

namespace springbloom {

struct FiltersRelease {
  void operator()(const sb_filters* filters) const { sb_filters_release(filters); }
};
using FiltersRef = std::unique_ptr<const sb_filters, FiltersRelease>;

struct BuilderFree {
  void operator()(sb_builder* builder) const { sb_builder_free(builder); }
};
using BuilderPtr = std::unique_ptr<sb_builder, BuilderFree>;

inline sb_bytes Bytes(const leveldb::Slice& s) { return sb_bytes{reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }
inline std::string Text(sb_bytes bytes) { return std::string(reinterpret_cast<const char*>(bytes.data), bytes.size); }

// What a database's tables are to be filtered with.
struct Selected {
  FiltersRef filters;  // null: with stock filters, or none
  const leveldb::Comparator* user_comparator = nullptr;

  bool IsBytewise() const;
  // Whether they may be: keys that compare equal and differ in their bytes have different digests, and a filter would hide one from the
  // other.
  bool MayFilter() const;
};

// `options`: as a database gives them to its tables. Those of a table that no database owns select nothing: its keys are no versions.
Selected SelectedBy(const leveldb::Options& options);

// The comparator of user keys for the core, which borrows it.
sb_comparator ComparatorForCore(const leveldb::Comparator& user_comparator);

// Of a LevelDB whose tables are cached by this library; the core's view of it.
extern const sb_engine kEngine;

// In the files of the replaced classes.
extern const char kTableBuilderIsReplaced;
extern const char kTableCacheIsReplaced;

}  // namespace springbloom
