// Retries without the filters' charge of what a strict block cache refuses.
#pragma once

#include "abi.h"
#include "table/internal_iterator.h"

namespace springbloom {

// Tries again without the filters' charge. Other threads may have ended it since the cache refused, or may bring it back: nothing is
// charged before and after a try that counts, and several must count: what others ended just now may have come back within one. They fail
// soon, since a slow try gives a charge the time to come back.
template <typename IsRefused, typename IsDone, typename Try>
void RetryWithoutCharge(const sb_filters* filters, IsRefused is_refused, IsDone is_done, Try try_again) {
  int uncharged = 0;
  bool has_yielded = false;
  for (int tries = 0; tries < 32 && uncharged < 4 && is_refused(); ++tries) {
    const bool yields = sb_filters_yield_to_cache(filters) != 0;
    has_yielded = has_yielded || yields;
    uncharged = yields ? 0 : uncharged + 1;
    try_again();
  }
  if (has_yielded && is_done()) {
    sb_filters_have_yielded_to_cache(filters);
  }
}

// The same for an iterator, which reads the index block when it is made: a flush ends with one, and ends all writes if that fails.
template <typename New>
rocksdb::InternalIterator* NewIteratorWithRetry(const sb_filters* filters, const rocksdb::Arena* arena, New make) {
  sb_filters_make_way(filters);
  rocksdb::InternalIterator* iterator = make();
  RetryWithoutCharge(
      filters, [&] { return iterator->status().IsMemoryLimit(); }, [&] { return iterator->status().ok(); },
      [&] {
        if (arena != nullptr) {
          iterator->~InternalIteratorBase();
        } else {
          delete iterator;
        }
        iterator = make();
      });
  return iterator;
}

}  // namespace springbloom
