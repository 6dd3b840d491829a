#include "modular_filter.h"

#include <cstring>

#include "module_store.h"
#include "table_use.h"
#include "util/coding.h"
#include "util/hash.h"

namespace springbloom {
namespace {

using rocksdb::FilterBitsBuilder;
using rocksdb::FilterBitsReader;
using rocksdb::FilterPolicy;
using rocksdb::Slice;
using rocksdb::Status;

// A module as a filter block names it.
struct Place {
  uint64_t offset;
  uint32_t size;
  double false_positive_rate;
};

constexpr size_t kPlaceBytes = 8 + 4 + 8;

void Encode(const Place& place, std::string* block) {
  rocksdb::PutFixed64(block, place.offset);
  rocksdb::PutFixed32(block, place.size);
  uint64_t rate;
  std::memcpy(&rate, &place.false_positive_rate, 8);
  rocksdb::PutFixed64(block, rate);
}

std::vector<Place> Decode(Slice block) {
  std::vector<Place> places;
  Place place;
  uint64_t rate;
  while (rocksdb::GetFixed64(&block, &place.offset) && rocksdb::GetFixed32(&block, &place.size) &&
         rocksdb::GetFixed64(&block, &rate)) {
    std::memcpy(&place.false_positive_rate, &rate, 8);
    places.push_back(place);
  }
  return places;
}

// Stock filters of one size err on the same keys. So each module gets another hash of the key.
struct ModuleKey {
  ModuleKey(const Slice& key, size_t module) { rocksdb::EncodeFixed64(bytes, rocksdb::Hash64(key.data(), key.size(), module)); }
  operator Slice() const { return Slice(bytes, sizeof bytes); }
  char bytes[8];
};

struct Shared {
  explicit Shared(ModularFilterSettings with)
      : settings(std::move(with)), modules(settings.fs, settings.path, settings.direct_reads, settings.cache) {}

  const ModularFilterSettings settings;
  ModuleStore modules;
  TableUses uses;
};

class ModularBuilder final : public FilterBitsBuilder {
 public:
  ModularBuilder(std::shared_ptr<Shared> shared, std::vector<std::unique_ptr<FilterBitsBuilder>> modules)
      : shared_(std::move(shared)), modules_(std::move(modules)) {}

  void AddKey(const Slice& key) override {
    for (size_t module = 0; module < modules_.size(); ++module) {
      modules_[module]->AddKey(ModuleKey(key, module));
    }
  }

  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    AddKey(key);
    AddKey(alt);
  }

  size_t EstimateEntriesAdded() override { return modules_[0]->EstimateEntriesAdded(); }

  Slice Finish(std::unique_ptr<const char[]>* buffer) override {
    Status ignored;
    return Finish(buffer, &ignored);
  }

  Slice Finish(std::unique_ptr<const char[]>* buffer, Status* status) override {
    std::string block;
    const size_t keys = EstimateEntriesAdded();
    for (std::unique_ptr<FilterBitsBuilder>& builder : modules_) {
      std::unique_ptr<const char[]> owned;
      const Slice module = builder->Finish(&owned);
      Place place{0, static_cast<uint32_t>(module.size()), builder->EstimatedFpRate(keys, module.size())};
      *status = shared_->modules.Append(module, &place.offset);
      if (!status->ok()) {
        return Slice();
      }
      Encode(place, &block);
    }
    char* copy = new char[block.size()];
    std::memcpy(copy, block.data(), block.size());
    buffer->reset(copy);
    return Slice(copy, block.size());
  }

  size_t ApproximateNumEntries(size_t bytes) override { return modules_[0]->ApproximateNumEntries(bytes); }
  size_t CalculateSpace(size_t) override { return modules_.size() * kPlaceBytes; }
  double EstimatedFpRate(size_t keys, size_t bytes) override { return modules_[0]->EstimatedFpRate(keys, bytes); }

 private:
  std::shared_ptr<Shared> shared_;
  std::vector<std::unique_ptr<FilterBitsBuilder>> modules_;
};

class ModularReader final : public FilterBitsReader {
 public:
  ModularReader(std::shared_ptr<Shared> shared, std::vector<Place> places)
      : shared_(std::move(shared)), places_(std::move(places)), use_(shared_->uses.Of(places_.empty() ? 0 : places_[0].offset)) {}

  // Algorithm 1 of the paper.
  bool MayMatch(const Slice& key) override {
    const UseEstimate use = shared_->uses.Count(use_);
    const std::vector<double>& thresholds = shared_->settings.thresholds;
    double rate = 1;
    for (size_t module = 0; module < places_.size(); ++module) {
      const Place& place = places_[module];
      const double rate_with_it = rate * place.false_positive_rate;
      const double utility = use.frequency * (1 - use.found_share) * (rate - rate_with_it);
      if (module < thresholds.size() && utility < thresholds[module]) {
        break;
      }
      if (!shared_->modules.MayMatch(place.offset, place.size, ModuleKey(key, module))) {
        return false;
      }
      rate = rate_with_it;
    }
    SetAsked(use_);
    return true;
  }

  using FilterBitsReader::MayMatch;

 private:
  std::shared_ptr<Shared> shared_;
  std::vector<Place> places_;
  TableUse* use_;
};

class ModularPolicy final : public FilterPolicy {
 public:
  explicit ModularPolicy(ModularFilterSettings settings)
      : shared_(std::make_shared<Shared>(std::move(settings))),
        stock_(rocksdb::NewBloomFilterPolicy(shared_->settings.bits_per_key / Modules())) {}

  const char* Name() const override { return "springbloom.ModularFilter"; }
  const char* CompatibilityName() const override { return Name(); }

  FilterBitsBuilder* GetBuilderWithContext(const rocksdb::FilterBuildingContext& context) const override {
    std::vector<std::unique_ptr<FilterBitsBuilder>> modules;
    for (size_t module = 0; module < Modules(); ++module) {
      modules.emplace_back(stock_->GetBuilderWithContext(context));
      if (modules.back() == nullptr) {
        return nullptr;
      }
    }
    return new ModularBuilder(shared_, std::move(modules));
  }

  FilterBitsReader* GetFilterBitsReader(const Slice& contents) const override {
    return new ModularReader(shared_, Decode(contents));
  }

 private:
  size_t Modules() const { return shared_->settings.thresholds.size(); }

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<const FilterPolicy> stock_;
};

}  // namespace

ModularFilter NewModularFilter(ModularFilterSettings settings) {
  return {std::make_shared<ModularPolicy>(std::move(settings)), NewUseStatistics()};
}

}  // namespace springbloom
