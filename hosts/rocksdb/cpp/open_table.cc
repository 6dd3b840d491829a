#include "open_table.h"

#include <algorithm>
#include <list>
#include <mutex>

namespace springbloom {

namespace {

struct Kept : ReaderCommons {
  size_t readers;
};

// Pointers to what is in it stay good.
std::list<Kept> all_kept;
std::mutex all_kept_mutex;

bool IsSame(const ReaderCommons& a, const ReaderCommons& b) {
  return a.elastic.get() == b.elastic.get() && a.comparator == b.comparator && a.statistics == b.statistics;
}

}  // namespace

CommonsRef::CommonsRef(const ReaderCommons& commons) {
  std::lock_guard<std::mutex> lock(all_kept_mutex);
  auto found = std::find_if(all_kept.begin(), all_kept.end(), [&](const Kept& kept) { return IsSame(kept, commons); });
  if (found == all_kept.end()) {
    found = all_kept.insert(found, Kept{commons, 0});
  }
  ++found->readers;
  kept_ = &*found;
}

CommonsRef::~CommonsRef() {
  // Goes when nothing is locked: the last reference to the elastic waits for its threads, which may open tables.
  std::list<Kept> gone;
  std::lock_guard<std::mutex> lock(all_kept_mutex);
  if (kept_ != nullptr) {
    const auto it = std::find_if(all_kept.begin(), all_kept.end(), [&](const Kept& kept) { return &kept == kept_; });
    if (--it->readers == 0) {
      gone.splice(gone.begin(), all_kept, it);
    }
  }
}

}  // namespace springbloom
