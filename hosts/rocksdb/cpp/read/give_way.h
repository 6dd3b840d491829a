// What a strict block cache refuses while filters are charged to it.
#pragma once

#include "abi.h"

namespace springbloom {

// Tries again while the cache refuses and the filters' charge gives way. The last try finds nothing charged: another thread may have taken
// the charge away since the cache refused.
template <typename IsRefused, typename Try>
void TryWhileFiltersGiveWay(const sb_filters* filters, IsRefused is_refused, Try try_again) {
  for (bool gave_way = true; gave_way && is_refused();) {
    gave_way = sb_filters_yield_to_cache(filters) != 0;
    try_again();
  }
}

}  // namespace springbloom
