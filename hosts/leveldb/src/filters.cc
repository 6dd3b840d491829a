#include "filters.h"

#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "internals.h"
#include "known_tables.h"
#include "leveldb/filter_policy.h"
#include "springbloom_leveldb.h"

namespace springbloom {

using leveldb::Comparator;
using leveldb::FilterPolicy;
using leveldb::Slice;
using leveldb::Status;

static_assert(std::string_view(kMetricsContentType) == SB_METRICS_CONTENT_TYPE);

const sb_engine kEngine = {
    .table_extension = "ldb",
    .older_table_extension = "sst",
    .database_file = "CURRENT",
    .lock_file = "LOCK",
    // LevelDB gives names that it does not know no meaning: DestroyDB leaves the file.
    .hotness_file = "SPRINGBLOOM-HOTNESS",
    .hotness_file_new = "SPRINGBLOOM-HOTNESS.new",
    .reader_bytes = KnownTables::kTableBytes + TableUnits::kFileBytes,
    .cache = nullptr,
};

namespace {

// Makes the linker take the replaced classes from this library: an archive's other members are left out unless something refers to them.
[[gnu::used]] const char* const replaced[] = {&kTableBuilderIsReplaced, &kTableCacheIsReplaced};

constexpr char kPolicyName[] = "springbloom.ElasticFilter";

std::mutex policies_mutex;
size_t policies = 0;

// LevelDB asks it nothing: TableBuilder and TableCache find out that it was chosen, and ask the core.
class ElasticFilterPolicy : public FilterPolicy {
 public:
  ElasticFilterPolicy() {
    std::lock_guard<std::mutex> lock(policies_mutex);
    ++policies;
  }

  ~ElasticFilterPolicy() override {
    filters_.reset();
    FiltersRef last;  // goes without the lock: it waits for its threads
    std::lock_guard<std::mutex> lock(policies_mutex);
    if (--policies == 0) {
      last.reset(sb_filters_shared_instance_if_any());
      sb_filters_give_up_shared_instance();
    }
  }

  void Use(FiltersRef filters) { filters_ = std::move(filters); }

  const char* Name() const override { return kPolicyName; }

  // A database wraps its policy, and the wrapper passes this call on. LevelDB never calls it for no keys: that asks for the filters.
  void CreateFilter(const Slice*, int count, std::string* dst) const override {
    if (count == 0) {
      const sb_filters* filters = filters_.get();
      dst->append(reinterpret_cast<const char*>(&filters), sizeof(filters));
    }
  }

  bool KeyMayMatch(const Slice&, const Slice&) const override { return true; }

 private:
  FiltersRef filters_;
};

int Compare(const void* comparator, sb_bytes a, sb_bytes b) noexcept {
  const auto slice = [](sb_bytes bytes) { return Slice(reinterpret_cast<const char*>(bytes.data), bytes.size); };
  return static_cast<const Comparator*>(comparator)->Compare(slice(a), slice(b));
}

void Take(void* context, sb_bytes text) noexcept { *static_cast<std::string*>(context) = Text(text); }

// Calls `use` with the shared filters.
template <typename Use>
Status WithFilters(Use use) {
  const FiltersRef filters(sb_filters_shared_instance_if_any());
  return filters == nullptr ? Status::NotFound("springbloom", "there is no elastic filter policy") : use(filters.get());
}

std::string Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  return first == text.npos ? "" : std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
}

// Name and value of each setting.
Status Parse(const std::string& settings, std::vector<std::pair<std::string, std::string>>* parsed) {
  for (size_t start = 0; start < settings.size();) {
    const size_t end = std::min(settings.find(';', start), settings.size());
    const std::string setting = Trimmed(std::string_view(settings).substr(start, end - start));
    start = end + 1;
    if (setting.empty()) {
      continue;
    }
    const size_t equals = setting.find('=');
    if (equals == setting.npos) {
      return Status::InvalidArgument("springbloom", "got " + setting + ", expected name=value");
    }
    parsed->emplace_back(Trimmed(setting.substr(0, equals)), Trimmed(setting.substr(equals + 1)));
  }
  return Status::OK();
}

}  // namespace

bool Selected::IsBytewise() const { return user_comparator == leveldb::BytewiseComparator(); }

bool Selected::MayFilter() const {
  return IsBytewise() || sb_filters_host_settings(filters.get())->assumes_bytewise_equality != 0;
}

Selected SelectedBy(const leveldb::Options& options) {
  Selected selected;
  if (options.filter_policy == nullptr || std::strcmp(options.filter_policy->Name(), kPolicyName) != 0 ||
      std::strcmp(options.comparator->Name(), "leveldb.InternalKeyComparator") != 0) {
    return selected;
  }
  selected.user_comparator = static_cast<const leveldb::InternalKeyComparator*>(options.comparator)->user_comparator();
  std::string pointer;
  options.filter_policy->CreateFilter(nullptr, 0, &pointer);
  const sb_filters* filters = nullptr;
  std::memcpy(&filters, pointer.data(), sizeof(filters));
  sb_filters_retain(filters);
  selected.filters.reset(filters);
  return selected;
}

sb_comparator ComparatorForCore(const Comparator& user_comparator) {
  return &user_comparator == leveldb::BytewiseComparator() ? sb_comparator{nullptr, nullptr}
                                                           : sb_comparator{&user_comparator, &Compare};
}

Status NewElasticFilterPolicy(const std::string& settings, const FilterPolicy** policy) {
  *policy = nullptr;
  std::vector<std::pair<std::string, std::string>> parsed;
  const Status s = Parse(settings, &parsed);
  if (!s.ok()) {
    return s;
  }
  std::vector<sb_setting> given;
  for (const auto& [name, value] : parsed) {
    given.push_back({Bytes(name), Bytes(value)});
  }
  char error[512] = "";
  auto made = std::make_unique<ElasticFilterPolicy>();
  FiltersRef filters(sb_filters_shared_instance(&kEngine, given.data(), given.size(), error, sizeof(error)));
  if (filters == nullptr) {
    return Status::InvalidArgument("springbloom", error);
  }
  made->Use(std::move(filters));
  *policy = made.release();
  return Status::OK();
}

Status GetBudget(uint64_t* budget_bytes) {
  return WithFilters([&](const sb_filters* filters) {
    *budget_bytes = sb_filters_budget_bytes(filters);
    return Status::OK();
  });
}

Status SetBudget(uint64_t budget_bytes) {
  return WithFilters([&](const sb_filters* filters) {
    return sb_filters_set_budget_bytes(filters, budget_bytes)
               ? Status::OK()
               : Status::InvalidArgument("springbloom",
                                         "a budget of " + std::to_string(budget_bytes) + " bytes, expected at most 256 TiB");
  });
}

Status GetMetrics(std::string* text) {
  return WithFilters([&](const sb_filters* filters) {
    sb_filters_metrics_text(filters, text, &Take);
    return Status::OK();
  });
}

Status GetWastedReadsPerLookup(uint64_t budget_bytes, double* wasted_reads) {
  return WithFilters([&](const sb_filters* filters) {
    const double expected = sb_filters_wasted_reads_per_lookup(filters, budget_bytes);
    if (expected < 0) {
      return Status::NotFound("springbloom", "nothing was looked up yet");
    }
    *wasted_reads = expected;
    return Status::OK();
  });
}

Status WaitIdle(std::chrono::milliseconds timeout) {
  return WithFilters([&](const sb_filters* filters) {
    const auto ms = static_cast<uint64_t>(timeout.count() < 0 ? 0 : timeout.count());
    return sb_filters_wait_idle(filters, ms) ? Status::OK() : Status::IOError("springbloom", "units are still waiting");
  });
}

}  // namespace springbloom
