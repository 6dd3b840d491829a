// While indexes are resident, every call gives what stock RocksDB gives of the same files: in databases of all kinds, as drawn.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "abi.h"
#include "check.h"
#include "rocksdb/cache.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/checkpoint.h"
#include "utilities/merge_operators.h"

using namespace springbloom_test;

#if SPRINGBLOOM_ROCKSDB >= 110801
#include "rocksdb/multi_scan.h"

namespace {

using rocksdb::DB;
using rocksdb::Iterator;
using rocksdb::PinnableSlice;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::WriteOptions;
using TableOptions = rocksdb::BlockBasedTableOptions;

// Keys of one kind.
class KeyKind {
 public:
  explicit KeyKind(Random& random) : kind_(random.Below(5)), common_(random.OneIn(6) ? 3000 : random.Below(40), 'p') {}

  std::string Draw(Random& random) const {
    std::string key;
    switch (kind_) {
      case 0:  // few letters, the empty key among them
        key.resize(random.Below(6));
        for (char& letter : key) {
          letter = "\x00\x01\x7f\x80\xfe\xff"[random.Below(6)];
        }
        return key;
      case 1: {
        char digits[24];
        std::snprintf(digits, sizeof(digits), "user%012zu", random.Below(2000) * 7919);
        return digits;
      }
      case 2:  // binary
        key.resize(3);
        for (char& letter : key) {
          letter = static_cast<char>(random.Below(256));
        }
        return key;
      case 3:  // much in common, then short or long
        key = common_;
        for (size_t bytes = random.OneIn(300) ? 65000 : random.Below(5); bytes > 0; --bytes) {
          key +=
              "\x00"
              "ab\xff"[random.Below(4)];
        }
        return key;
      default:
        return std::string(random.Below(300), '\xff') + std::string(random.Below(3), '\0');
    }
  }

  std::string Near(Random& random) const {
    std::string key = Draw(random);
    if (random.OneIn(4)) {
      key += '\0';
    } else if (random.OneIn(6) && !key.empty()) {
      key.pop_back();
    }
    return key;
  }

 private:
  size_t kind_;
  std::string common_;
};

uint64_t ResidentIndexes(const sb_filters* filters) {
  std::string text;
  sb_filters_metrics_text(filters, &text, [](void* into, sb_bytes bytes) noexcept {
    static_cast<std::string*>(into)->assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
  });
  const std::string name = "\nspringbloom_resident_indexes";
  size_t at = text.find(name);
  while (at != std::string::npos && text[at + name.size()] != ' ' && text[at + name.size()] != '{') {
    at = text.find(name, at + 1);
  }
  Check(at != std::string::npos, "there is no such metric");
  return std::strtoull(text.c_str() + text.find(' ', at) + 1, nullptr, 10);
}

std::string Told(const Slice& bytes) {
  return std::to_string(bytes.size()) + ":" + Slice(bytes.data(), std::min<size_t>(bytes.size(), 40)).ToString(true);
}

constexpr uint64_t kBudgetBytes = 4 << 20;

struct Pair {
  DB* ours;
  DB* stock;
  const sb_filters* filters;
  std::vector<const rocksdb::Snapshot*> snapshots;
};

void CheckSame(const Status& ours, const Slice& our_value, const Status& stock, const Slice& stock_value,
               const std::string& what) {
  Check(ours == stock && (!ours.ok() || our_value == stock_value),
        what + ": " + ours.ToString() + " " + Told(our_value) + ", stock " + stock.ToString() + " " + Told(stock_value));
}

void DrawCommon(ReadOptions* read, const Pair& pair, Random& random) {
  read->verify_checksums = !random.OneIn(4);
  read->fill_cache = !random.OneIn(4);
  read->async_io = random.OneIn(4);
  read->ignore_range_deletions = random.OneIn(6);
  if (!pair.snapshots.empty() && random.OneIn(3)) {
    read->snapshot = pair.snapshots[random.Below(pair.snapshots.size())];
  }
  if (random.OneIn(8)) {
    read->deadline = std::chrono::microseconds(rocksdb::Env::Default()->NowMicros() + 600000000);
  }
}

void CompareGets(const Pair& pair, const KeyKind& keys, Random& random) {
  ReadOptions read;
  DrawCommon(&read, pair, random);
  const std::string key = keys.Near(random);
  PinnableSlice ours, stock;
  const Status our_status = pair.ours->Get(read, pair.ours->DefaultColumnFamily(), key, &ours);
  const Status stock_status = pair.stock->Get(read, pair.stock->DefaultColumnFamily(), key, &stock);
  CheckSame(our_status, ours, stock_status, stock, "Get " + Told(key));
  if (random.OneIn(4)) {
    read.read_tier = rocksdb::kBlockCacheTier;
    PinnableSlice cached;
    const Status status = pair.ours->Get(read, pair.ours->DefaultColumnFamily(), key, &cached);
    if (!status.IsIncomplete()) {
      CheckSame(status, cached, stock_status, stock, "Get from the cache " + Told(key));
    }
  }
}

void CompareBatches(const Pair& pair, const KeyKind& keys, Random& random) {
  ReadOptions read;
  DrawCommon(&read, pair, random);
  read.optimize_multiget_for_io = random.OneIn(2);
  std::vector<std::string> drawn;
  for (size_t count = 1 + random.Below(random.OneIn(3) ? 90 : 12); count > 0; --count) {
    drawn.push_back(random.OneIn(5) && !drawn.empty() ? drawn.back() : keys.Near(random));
  }
  const bool sorted = random.OneIn(2);
  if (sorted) {
    std::sort(drawn.begin(), drawn.end());
  }
  const std::vector<Slice> slices(drawn.begin(), drawn.end());
  auto ask = [&](DB* db, std::vector<PinnableSlice>* values, std::vector<Status>* statuses) {
    db->MultiGet(read, db->DefaultColumnFamily(), slices.size(), slices.data(), values->data(), statuses->data(), sorted);
  };
  std::vector<PinnableSlice> ours(slices.size()), stock(slices.size());
  std::vector<Status> our_statuses(slices.size()), stock_statuses(slices.size());
  ask(pair.ours, &ours, &our_statuses);
  ask(pair.stock, &stock, &stock_statuses);
  for (size_t i = 0; i < slices.size(); ++i) {
    CheckSame(our_statuses[i], ours[i], stock_statuses[i], stock[i], "MultiGet " + Told(slices[i]));
  }
  if (random.OneIn(4)) {
    read.read_tier = rocksdb::kBlockCacheTier;
    std::vector<PinnableSlice> cached(slices.size());
    std::vector<Status> statuses(slices.size());
    ask(pair.ours, &cached, &statuses);
    for (size_t i = 0; i < slices.size(); ++i) {
      // RocksDB says that all is well where it knows of the block, and lacks it.
      if (!statuses[i].IsIncomplete() && !(statuses[i].ok() && cached[i].empty())) {
        CheckSame(statuses[i], cached[i], stock_statuses[i], stock[i], "MultiGet from the cache " + Told(slices[i]));
      }
    }
  }
}

void Wander(const Pair& pair, Random& random) {
  Check(sb_filters_set_budget_bytes(pair.filters, random.OneIn(2) ? 0 : kBudgetBytes) != 0, "a budget");
}

void CompareWalks(const Pair& pair, const KeyKind& keys, Random& random, bool has_extractor, bool wanders) {
  ReadOptions read;
  DrawCommon(&read, pair, random);
  read.pin_data = random.OneIn(4);
  read.readahead_size = random.Of<size_t>({0, 0, 1, 4096, 1 << 20});
  read.adaptive_readahead = random.OneIn(3);
  read.auto_readahead_size = !random.OneIn(3);
  read.allow_unprepared_value = random.OneIn(4);
  read.max_skippable_internal_keys = random.OneIn(12) ? 3 : 0;
  const bool total = random.OneIn(2);
  if (has_extractor) {
    read.total_order_seek = total;
    read.prefix_same_as_start = !total && random.OneIn(2);
    read.auto_prefix_mode = !total && !read.prefix_same_as_start;
  }
  const bool cached = random.OneIn(8);
  std::string lower_bytes = keys.Near(random), upper_bytes = keys.Near(random);
  if (upper_bytes < lower_bytes) {
    std::swap(lower_bytes, upper_bytes);
  }
  const Slice lower(lower_bytes), upper(upper_bytes);
  if (random.OneIn(4)) {
    read.iterate_lower_bound = &lower;
  }
  if (random.OneIn(2)) {
    read.iterate_upper_bound = &upper;
  }
  ReadOptions our_read = read;
  if (cached) {
    our_read.read_tier = rocksdb::kBlockCacheTier;
  }
  const bool forward_alone = read.prefix_same_as_start || read.auto_prefix_mode;
  const std::unique_ptr<Iterator> ours(pair.ours->NewIterator(our_read)), stock(pair.stock->NewIterator(read));
  std::string walk;
  for (size_t steps = 1 + random.Below(60); steps > 0; --steps) {
    if (wanders && random.OneIn(10)) {
      Wander(pair, random);
    }
    const bool is_valid = stock->Valid();
    const size_t step = is_valid ? random.Below(20) : random.Below(8);
    std::string target;
    if (step < 6) {
      target = keys.Near(random);
      // A seek within or near the block, or to the key itself.
      if (is_valid && random.OneIn(2)) {
        target = stock->key().ToString() + (random.OneIn(2) ? std::string(1, '\0') : "");
      }
    }
    auto go = [&](Iterator& it) {
      if (step < 4 || (step < 6 && forward_alone)) {
        it.Seek(target);
      } else if (step < 6) {
        it.SeekForPrev(target);
      } else if (step == 6) {
        it.SeekToFirst();
      } else if (step == 7) {
        forward_alone ? it.SeekToFirst() : it.SeekToLast();
      } else if (step < 15 || forward_alone) {
        it.Next();
      } else {
        it.Prev();
      }
    };
    walk += " " + std::to_string(step) + (step < 6 ? "(" + Told(target) + ")" : "");
    go(*ours);
    go(*stock);
    if (cached && ours->status().IsIncomplete()) {
      return;
    }
    if (read.allow_unprepared_value) {
      if (ours->Valid()) {
        ours->PrepareValue();
      }
      if (stock->Valid()) {
        stock->PrepareValue();
      }
    }
    const std::string what = "a walk" + walk +
                             (has_extractor ? total                   ? " total"
                                              : read.auto_prefix_mode ? " auto"
                                                                      : " same"
                                            : "") +
                             (read.iterate_upper_bound ? " upper " + Told(upper) : "") +
                             (read.iterate_lower_bound ? " lower " + Told(lower) : "");
    Check(ours->Valid() == stock->Valid(), what + ": valid " + std::to_string(ours->Valid()) + ", " + ours->status().ToString() +
                                               ", stock " + stock->status().ToString());
    Check(ours->status() == stock->status(), what + ": " + ours->status().ToString() + ", stock " + stock->status().ToString());
    if (ours->Valid()) {
      CheckSame(Status::OK(), ours->key(), Status::OK(), stock->key(), what);
      CheckSame(Status::OK(), ours->value(), Status::OK(), stock->value(), what);
    } else if (!ours->status().ok()) {
      return;
    }
  }
}

void CompareTailing(const Pair& pair, const KeyKind& keys, Random& random) {
  ReadOptions read;
  read.total_order_seek = true;
  read.tailing = true;
  const std::unique_ptr<Iterator> ours(pair.ours->NewIterator(read)), stock(pair.stock->NewIterator(read));
  for (size_t seeks = 1 + random.Below(4); seeks > 0; --seeks) {
    const std::string target = keys.Near(random);
    ours->Seek(target);
    stock->Seek(target);
    for (size_t steps = random.Below(30); steps > 0; --steps) {
      Check(ours->status() == stock->status(), "a tailing iterator: " + ours->status().ToString());
      Check(ours->Valid() == stock->Valid(), "a tailing iterator ends elsewhere");
      if (!ours->Valid()) {
        break;
      }
      CheckSame(Status::OK(), ours->key(), Status::OK(), stock->key(), "a tailing iterator");
      CheckSame(Status::OK(), ours->value(), Status::OK(), stock->value(), "a tailing iterator");
      ours->Next();
      stock->Next();
    }
  }
}

void CompareScans(const Pair& pair, const KeyKind& keys, Random& random) {
  std::set<std::string> ends;
  for (size_t count = 2 * (1 + random.Below(6)); ends.size() < count && count > 0; --count) {
    ends.insert(keys.Draw(random));
  }
  std::vector<std::string> sorted(ends.begin(), ends.end());
  if (sorted.size() % 2 != 0) {
    sorted.pop_back();
  }
  if (sorted.empty()) {
    return;
  }
  rocksdb::MultiScanArgs scans(rocksdb::BytewiseComparator());
  scans.io_coalesce_threshold = random.Of<uint64_t>({0, 100, 16 << 10});
  scans.max_prefetch_size = random.OneIn(4) ? 20000 : 0;
#ifndef NDEBUG
  scans.max_prefetch_size = 0;  // with assertions RocksDB ends the process where a scan reaches it
#endif
  scans.use_async_io = random.OneIn(3);
  for (size_t i = 0; i < sorted.size(); i += 2) {
    scans.insert(sorted[i], sorted[i + 1]);
  }
  ReadOptions read;
  read.total_order_seek = true;
  auto all = [&](DB* db) {
    std::string seen;
    try {
      const std::unique_ptr<rocksdb::MultiScan> scan = db->NewMultiScan(read, db->DefaultColumnFamily(), scans);
      for (auto range : *scan) {
        seen += "|";
        for (const auto& [key, value] : range) {
          seen += key.ToString() + "=" + value.ToString() + ";";
        }
      }
    } catch (rocksdb::MultiScanException& exception) {
      seen += exception.status().ToString();
    } catch (const std::logic_error& error) {
      seen += error.what();
    }
    return seen;
  };
  const std::string ours = all(pair.ours), stock = all(pair.stock);
  size_t same = 0;
  while (same < ours.size() && same < stock.size() && ours[same] == stock[same]) {
    ++same;
  }
  Check(ours == stock, "a multi scan of " + std::to_string(scans.size()) + ", at most " +
                           std::to_string(scans.max_prefetch_size) + (scans.use_async_io ? " async" : "") + ", same " +
                           std::to_string(same) + ": " + std::to_string(ours.size()) + Told(ours.substr(same)) + ", stock " +
                           std::to_string(stock.size()) + Told(stock.substr(same)));
}

void CompareSizes(const Pair& pair, const KeyKind& keys, Random& random) {
  std::string from = keys.Near(random), to = keys.Near(random);
  if (to < from) {
    std::swap(from, to);
  }
  const rocksdb::Range range(from, to);
  rocksdb::SizeApproximationOptions options;
  options.include_files = true;
  options.files_size_error_margin = random.OneIn(2) ? -1.0 : 0.2;
  uint64_t ours = 0, stock = 0;
  CheckOk(pair.ours->GetApproximateSizes(options, pair.ours->DefaultColumnFamily(), &range, 1, &ours), "sizes");
  CheckOk(pair.stock->GetApproximateSizes(options, pair.stock->DefaultColumnFamily(), &range, 1, &stock), "sizes");
  Check(ours == stock, "ApproximateSizes: " + std::to_string(ours) + ", stock " + std::to_string(stock));
}

void WriteSome(DB* db, const KeyKind& keys, Random& random, std::vector<const rocksdb::Snapshot*>* snapshots) {
  const WriteOptions write;
  const size_t most = random.Of<size_t>({1, 40, 300, 1500});
  for (size_t entry = 1 + random.Below(most); entry > 0; --entry) {
    const std::string key = keys.Draw(random);
    const size_t kind = random.Below(40);
    if (kind < 4) {
      CheckOk(db->Delete(write, key), "Delete");
    } else if (kind < 7) {
      CheckOk(db->Merge(write, key, std::to_string(random.Below(1000))), "Merge");
    } else if (kind == 7 && random.OneIn(3)) {
      std::string to = keys.Draw(random);
      if (key < to) {
        CheckOk(db->DeleteRange(write, db->DefaultColumnFamily(), key, to), "DeleteRange");
      }
    } else if (kind == 8 && random.OneIn(5) && snapshots->size() < 12) {
      snapshots->push_back(db->GetSnapshot());
    } else {
      // Many versions of a key in several blocks, if snapshots keep them.
      for (size_t times = random.OneIn(100) ? 20 : 1; times > 0; --times) {
        const size_t bytes = random.OneIn(400) ? 70000 : random.Below(120);
        CheckOk(db->Put(write, key, std::to_string(random.Below(1000)) + std::string(bytes, 'v')), "Put");
        if (times > 1 && snapshots->size() < 12 && random.OneIn(2)) {
          snapshots->push_back(db->GetSnapshot());
        }
      }
    }
  }
}

void Ingest(DB* db, const rocksdb::Options& options, const std::string& path, const KeyKind& keys, Random& random) {
  std::set<std::string> drawn;
  for (size_t entry = 1 + random.Below(200); entry > 0; --entry) {
    drawn.insert(keys.Draw(random));
  }
  const std::string file = path + "-ingested.sst";
  rocksdb::SstFileWriter writer((rocksdb::EnvOptions()), options);
  CheckOk(writer.Open(file), "open a table");
  for (const std::string& key : drawn) {
    CheckOk(writer.Put(key, "ingested" + std::to_string(random.Below(1000))), "Put into a table");
  }
  CheckOk(writer.Finish(), "finish a table");
  rocksdb::IngestExternalFileOptions ingestion;
  ingestion.write_global_seqno = random.OneIn(2);
  ingestion.verify_checksums_before_ingest = random.OneIn(2);
  CheckOk(db->IngestExternalFile({file}, ingestion), "ingest");
}

void DrawTables(TableOptions* tables, rocksdb::Options* options, Random& random) {
  tables->format_version = random.OneIn(10) ? 2 : 3 + random.Below(5);
  tables->index_type = random.OneIn(5) ? TableOptions::kBinarySearch : TableOptions::kTwoLevelIndexSearch;
  tables->cache_index_and_filter_blocks = tables->index_type == TableOptions::kBinarySearch || random.OneIn(2);
  tables->pin_top_level_index_and_filter = random.OneIn(2);
  tables->pin_l0_filter_and_index_blocks_in_cache = random.OneIn(3);
  tables->metadata_block_size = random.Of<uint64_t>({1, 40, 200, 4096});
  tables->index_block_restart_interval = random.Of<int>({1, 2, 7, 16, 64});
  tables->index_shortening =
      random.Of({TableOptions::IndexShorteningMode::kNoShortening, TableOptions::IndexShorteningMode::kShortenSeparators,
                 TableOptions::IndexShorteningMode::kShortenSeparatorsAndSuccessor});
  tables->index_block_search_type = random.Of({TableOptions::kBinary, TableOptions::kInterpolation, TableOptions::kAuto});
  tables->uniform_cv_threshold = random.OneIn(3) ? 1e9 : -1;
  tables->separate_key_value_in_data_block = random.OneIn(3);
  tables->block_size = random.Of<uint64_t>({1, 64, 256, 256, 1024, 4096});
  tables->block_restart_interval = random.Of<int>({1, 3, 16});
  tables->use_delta_encoding = !random.OneIn(4);
  tables->enable_index_compression = !random.OneIn(3);
  tables->checksum = random.Of({rocksdb::kXXH3, rocksdb::kCRC32c, rocksdb::kxxHash, rocksdb::kNoChecksum});
  tables->block_align = random.OneIn(5);
  if (tables->block_align) {
    options->compression = rocksdb::kNoCompression;
    options->bottommost_compression = rocksdb::kNoCompression;
    tables->block_size = random.Of<uint64_t>({64, 256, 4096});
  } else {
    options->compression = random.Of({rocksdb::kNoCompression, rocksdb::kLZ4Compression, rocksdb::kZSTD});
    if (options->compression == rocksdb::kZSTD && random.OneIn(2)) {
      options->compression_opts.max_dict_bytes = 4096;
    }
    if (random.OneIn(3)) {
      options->compression_opts.parallel_threads = 3;
    }
    if (random.OneIn(6)) {
      tables->super_block_alignment_size = 8192;
      tables->super_block_alignment_space_overhead_ratio = 4;
    }
  }
  if (random.OneIn(2)) {
    tables->filter_policy.reset(rocksdb::NewBloomFilterPolicy(random.OneIn(2) ? 10 : 1));
    tables->partition_filters = tables->index_type == TableOptions::kTwoLevelIndexSearch && random.OneIn(2);
    tables->decouple_partitioned_filters = random.OneIn(2);
    tables->whole_key_filtering = !random.OneIn(4);
  }
  tables->max_auto_readahead_size = random.Of<size_t>({0, 4096, 256 << 10});
  tables->initial_auto_readahead_size = random.Of<size_t>({0, 100, 8192});
  tables->num_file_reads_for_auto_readahead = random.Below(3);
}

void Live(void* rocksdb_options, const std::string& path, Random& random, uint64_t* answers, uint64_t* resident) {
  const sb_filters* const filters = springbloom_installed(rocksdb_options);
  rocksdb::Options options = springbloom::OptionsIn(rocksdb_options);
  auto* const tables = options.table_factory->GetOptions<TableOptions>();
  DrawTables(tables, &options, random);
  options.merge_operator = rocksdb::MergeOperators::CreateStringAppendOperator();
  options.disable_auto_compactions = random.OneIn(2);
  options.max_open_files = random.OneIn(4) ? 12 : -1;
  options.target_file_size_base = random.Of<uint64_t>({2 << 10, 30 << 10, 64 << 20});
  options.max_subcompactions = 1 + random.Below(4);
  options.level0_file_num_compaction_trigger = 4;
  options.allow_mmap_reads = random.OneIn(8);
  options.use_direct_reads = !options.allow_mmap_reads && random.OneIn(8);
  options.uncache_aggressiveness = random.OneIn(4) ? 1000 : 0;
  options.max_sequential_skip_in_iterations = random.Of<uint64_t>({0, 1, 8});
  const bool has_extractor = random.OneIn(3);
  if (has_extractor) {
    options.prefix_extractor.reset(random.OneIn(2) ? rocksdb::NewCappedPrefixTransform(2) : rocksdb::NewCappedPrefixTransform(8));
  }
  CheckOk(rocksdb::DestroyDB(path, options), "DestroyDB");
  const KeyKind keys(random);

  for (size_t lives = 1 + random.Below(2); lives > 0; --lives) {
    Check(sb_filters_set_budget_bytes(filters, kBudgetBytes) != 0, "a budget");
    std::unique_ptr<DB> ours = Open(options, path);
    Pair pair{ours.get(), nullptr, filters, {}};
    for (size_t flushes = 1 + random.Below(6); flushes > 0; --flushes) {
      if (random.OneIn(6)) {
        Ingest(ours.get(), options, path, keys, random);
      } else {
        WriteSome(ours.get(), keys, random, &pair.snapshots);
        CheckOk(ours->Flush(rocksdb::FlushOptions()), "Flush");
      }
    }
    if (random.OneIn(2)) {
      CheckOk(ours->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "CompactRange");
    }
    if (random.OneIn(2)) {
      WriteSome(ours.get(), keys, random, &pair.snapshots);
    }
    CheckOk(ours->Flush(rocksdb::FlushOptions()), "Flush");
    CheckOk(ours->WaitForCompact(rocksdb::WaitForCompactOptions()), "WaitForCompact");
    CheckOk(ours->PauseBackgroundWork(), "PauseBackgroundWork");

    rocksdb::Options stock_options = options;
    TableOptions stock_tables = *tables;
    stock_tables.block_cache = rocksdb::NewLRUCache(8 << 20);
    stock_options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(stock_tables));
    stock_options.listeners.clear();
    stock_options.disable_auto_compactions = true;
    const std::string copy = path + "-stock";
    CheckOk(rocksdb::DestroyDB(copy, stock_options), "DestroyDB");
    rocksdb::Checkpoint* checkpoint = nullptr;
    CheckOk(rocksdb::Checkpoint::Create(ours.get(), &checkpoint), "a checkpoint");
    const std::unique_ptr<rocksdb::Checkpoint> owned(checkpoint);
    CheckOk(checkpoint->CreateCheckpoint(copy, /*log_size_for_flush=*/UINT64_MAX), "a checkpoint");
    const std::unique_ptr<DB> stock = Open(stock_options, copy);
    pair.stock = stock.get();

    uint64_t most = 0;
    // Its own draws: how many there are depends on time.
    Random warming(random.Below(1 << 30));
    for (size_t look = 0; look < 24; ++look) {
      for (size_t gets = 0; gets < 150; ++gets) {
        CompareGets(pair, keys, warming);
        ++*answers;
      }
      const uint64_t now = ResidentIndexes(filters);
      if (most > 0 && now == most) {
        break;
      }
      most = std::max(most, now);
      rocksdb::Env::Default()->SleepForMicroseconds(15000);
    }
    *resident += most;
    const bool wanders = random.OneIn(4);
    ReadOptions total;
    total.total_order_seek = true;
    std::unique_ptr<Iterator> our_standing(ours->NewIterator(total));
    our_standing->SeekToFirst();
    if (our_standing->Valid() && random.OneIn(2)) {
      our_standing->Next();
    }
    for (size_t round = 0; round < 150; ++round) {
      if (wanders && random.OneIn(10)) {
        Wander(pair, random);
      }
      switch (random.Below(8)) {
        case 0:
        case 1:
          CompareBatches(pair, keys, random);
          break;
        case 2:
          CompareSizes(pair, keys, random);
          break;
        case 3:
          CompareScans(pair, keys, random);
          break;
        case 4:
          CompareGets(pair, keys, random);
          break;
        case 5:
          if (random.OneIn(3)) {
            CompareTailing(pair, keys, random);
            break;
          }
          [[fallthrough]];
        default:
          CompareWalks(pair, keys, random, has_extractor, wanders);
      }
      ++*answers;
    }
    CheckOk(ours->VerifyChecksum(), "VerifyChecksum");
    // What compactions make of it, under whose feet an iterator stands.
    for (const rocksdb::Snapshot* snapshot : pair.snapshots) {
      ours->ReleaseSnapshot(snapshot);
    }
    pair.snapshots.clear();
    CheckOk(ours->ContinueBackgroundWork(), "ContinueBackgroundWork");
    rocksdb::CompactRangeOptions whole;
    whole.max_subcompactions = 1 + random.Below(4);
    whole.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    CheckOk(ours->CompactRange(whole, nullptr, nullptr), "CompactRange");
    if (wanders) {
      Wander(pair, random);
    }
    {
      const std::unique_ptr<Iterator> stock_all(stock->NewIterator(total)), ours_all(ours->NewIterator(total));
      stock_all->SeekToFirst();
      for (ours_all->SeekToFirst(); stock_all->Valid(); ours_all->Next(), stock_all->Next()) {
        Check(ours_all->Valid(), "the compacted database ends before: " + ours_all->status().ToString());
        CheckSame(Status::OK(), ours_all->key(), Status::OK(), stock_all->key(), "compacted");
        CheckSame(Status::OK(), ours_all->value(), Status::OK(), stock_all->value(), "compacted");
      }
      CheckOk(stock_all->status(), "stock");
      CheckOk(ours_all->status(), "compacted");
      Check(!ours_all->Valid(), "the compacted database ends behind");
      // The iterator that stands.
      stock_all->SeekToFirst();
      if (stock_all->Valid()) {
        our_standing->SeekToFirst();
        for (; stock_all->Valid(); our_standing->Next(), stock_all->Next()) {
          Check(our_standing->Valid(), "the iterator that stands ends before: " + our_standing->status().ToString());
          CheckSame(Status::OK(), our_standing->key(), Status::OK(), stock_all->key(), "the iterator that stands");
        }
      }
    }
    our_standing.reset();
  }
}

}  // namespace

// `options` have filters whose budget pays for indexes, and a block cache.
extern "C" int springbloom_test_resident_index_oracle(void* options, const char* path, uint64_t seed, uint64_t* answers,
                                                      uint64_t* resident, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    Random random(seed);
    Live(options, path, random, answers, resident);
  });
}
#else
SPRINGBLOOM_TEST_OF_NEWER_RELEASES(springbloom_test_resident_index_oracle)
#endif
