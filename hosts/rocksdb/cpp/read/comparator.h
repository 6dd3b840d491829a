// A comparator as Rust sees it.
#pragma once

#include "owners.h"
#include "rocksdb/comparator.h"

namespace springbloom {

// Valid as long as the comparator. Keys in the order of their bytes are compared without a call back.
inline sb_comparator ComparatorOf(const rocksdb::Comparator& comparator) {
  static const rocksdb::Comparator* const kBytewise = rocksdb::BytewiseComparator();
  if (&comparator == kBytewise) {
    return sb_comparator{nullptr, nullptr};
  }
  const auto compare = [](const void* of, sb_bytes a, sb_bytes b) noexcept {
    return static_cast<const rocksdb::Comparator*>(of)->CompareWithoutTimestamp(ToSlice(a), /*a_has_ts=*/false, ToSlice(b),
                                                                                /*b_has_ts=*/false);
  };
  return sb_comparator{&comparator, compare};
}

}  // namespace springbloom
