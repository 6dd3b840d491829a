// What a strict block cache refuses while filters are charged to it.
#pragma once

#include "abi.h"

namespace springbloom {

// Tries again while the cache refuses and the filters' charge gives way. Other threads may have taken the charge away since the cache
// refused, or may bring it back: nothing is charged before and after the try that counts.
template <typename IsRefused, typename Try>
void TryWhileFiltersGiveWay(const sb_filters* filters, IsRefused is_refused, Try try_again) {
  int uncharged = 0;
  while (uncharged < 2 && is_refused()) {
    uncharged = sb_filters_yield_to_cache(filters) != 0 ? 0 : uncharged + 1;
    try_again();
  }
}

}  // namespace springbloom
