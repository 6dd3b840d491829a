// A comparator as Rust sees it.
#pragma once

#include "abi.h"
#include "rocksdb/comparator.h"

namespace springbloom {

// Valid as long as the comparator. Keys in the order of their bytes are compared without a call back.
inline sb_key_order KeyOrder(const rocksdb::Comparator& comparator) {
  static const rocksdb::Comparator* const kBytewise = rocksdb::BytewiseComparator();
  if (&comparator == kBytewise) {
    return sb_key_order{nullptr, nullptr};
  }
  const auto compare = [](const void* order, const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size) noexcept {
    return static_cast<const rocksdb::Comparator*>(order)->CompareWithoutTimestamp(
        rocksdb::Slice(reinterpret_cast<const char*>(a), a_size), /*a_has_ts=*/false,
        rocksdb::Slice(reinterpret_cast<const char*>(b), b_size), /*b_has_ts=*/false);
  };
  return sb_key_order{&comparator, compare};
}

}  // namespace springbloom
