// Replaces LevelDB's class: the tables that it writes are the same, but for the block of filter units where the database's policy is
// elastic.
#include "leveldb/table_builder.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "filters.h"
#include "internals.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "unit_block.h"

// Weak, because LevelDB may have been built without it.
namespace snappy {
__attribute__((weak)) size_t MaxCompressedLength(size_t source_bytes);
__attribute__((weak)) void RawCompress(const char* input, size_t input_length, char* compressed, size_t* compressed_length);
}  // namespace snappy

const char springbloom::kTableBuilderIsReplaced = 1;

namespace leveldb {

namespace {

// Collects the user keys of a table.
class UnitWriter {
 public:
  explicit UnitWriter(const springbloom::Selected& selected)
      : filters_(selected.filters.get()),
        builder_(
            sb_builder_new(filters_, selected.IsBytewise() ? 1 : 0, springbloom::Bytes(block_.identity), /*file_number=*/0)) {}

  void Add(const Slice& internal_key, const Slice& value) {
    if (internal_key.size() < kKeyTrailerSize) {
      is_sound_ = false;  // out of a damaged table, which LevelDB copies as it is
      return;
    }
    const Slice key(internal_key.data(), internal_key.size() - kKeyTrailerSize);
    sb_builder_add(builder_.get(), springbloom::Bytes(key), key.size() + value.size());
  }

  // Empty: the table gets no units.
  Slice Finish() {
    const sb_bytes units = sb_builder_finish(builder_.get());
    if (units.size == 0 || !is_sound_) {
      sb_filters_count(filters_, SB_WRITTEN_WITHOUT_UNITS, 1);
      return Slice();
    }
    return Slice(reinterpret_cast<const char*>(units.data), units.size);
  }

  // The metaindex entry, given where the block was written.
  std::string EntryFor(const BlockHandle& handle) {
    block_.handle = handle;
    return block_.Encode();
  }

 private:
  const sb_filters* filters_;
  bool is_sound_ = true;
  springbloom::UnitBlock block_{.handle = {}, .identity = springbloom::NewIdentity()};
  springbloom::BuilderPtr builder_;
};

// Whether blocks can be compressed: LevelDB, which reads them, may have been built without Snappy where the program has it.
bool HasSnappy() {
  class Bytes : public RandomAccessFile {
   public:
    explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
    Status Read(uint64_t offset, size_t size, Slice* result, char*) const override {
      *result = Slice(bytes_.data() + offset, size);
      return Status::OK();
    }

   private:
    const std::string bytes_;
  };
  if (snappy::RawCompress == nullptr) {
    return false;
  }
  // A word as Snappy compresses it, and the block's trailer.
  Bytes file(std::string("\x04\x0cword") + static_cast<char>(kSnappyCompression) + std::string(4, '\0'));
  BlockHandle handle;
  handle.Set(0, 6);
  BlockContents contents;
  if (!ReadBlock(&file, ReadOptions(), handle, &contents).ok()) {
    return false;
  }
  const Block owner(contents);
  return contents.data == Slice("word");
}

Options WithRestartInterval(Options options, int interval) {
  options.block_restart_interval = interval;
  return options;
}

}  // namespace

struct TableBuilder::Rep {
  Rep(const Options& given, WritableFile* to)
      : options(given), index_options(WithRestartInterval(given, 1)), file(to), data(&options), index(&index_options) {
    if (options.filter_policy == nullptr) {
      return;
    }
    selected = springbloom::SelectedBy(options);
    if (selected.filters == nullptr) {
      filter.emplace(options.filter_policy);
      filter->StartBlock(0);
    } else if (!sb_filters_host_settings(selected.filters.get())->creates_filters) {
      return;
    } else if (selected.MayFilter()) {
      units.emplace(selected);
    } else {
      sb_filters_count(selected.filters.get(), SB_WRITTEN_WITHOUT_UNITS, 1);
    }
  }

  // The index entry of the last data block, whose key lies between that block's and `next`, the first of the next block; null: the table
  // ends.
  void AddIndexEntry(const Slice* next) {
    if (!has_pending_entry) {
      return;
    }
    if (next == nullptr) {
      options.comparator->FindShortSuccessor(&last_key);
    } else {
      options.comparator->FindShortestSeparator(&last_key, *next);
    }
    std::string handle;
    pending.EncodeTo(&handle);
    index.Add(last_key, handle);
    has_pending_entry = false;
  }

  Options options;
  Options index_options;
  WritableFile* const file;
  springbloom::Selected selected;
  uint64_t offset = 0;
  Status status;
  BlockBuilder data;
  BlockBuilder index;
  // Of a policy that is not elastic.
  std::optional<FilterBlockBuilder> filter;
  std::optional<UnitWriter> units;
  std::string last_key;
  uint64_t entries = 0;
  // A data block was written and has no index entry yet.
  bool has_pending_entry = false;
  BlockHandle pending;
  std::string compressed;
};

TableBuilder::TableBuilder(const Options& options, WritableFile* file) : rep_(new Rep(options, file)) {}

TableBuilder::~TableBuilder() { delete rep_; }

Status TableBuilder::ChangeOptions(const Options& options) {
  if (options.comparator != rep_->options.comparator) {
    return Status::InvalidArgument("changing comparator while building table");
  }
  // The blocks under way point to them. The policy stays: its filter is under way too.
  const FilterPolicy* policy = rep_->options.filter_policy;
  rep_->options = options;
  rep_->options.filter_policy = policy;
  rep_->index_options = WithRestartInterval(rep_->options, 1);
  return Status::OK();
}

void TableBuilder::Add(const Slice& key, const Slice& value) {
  Rep& r = *rep_;
  if (!ok()) {
    return;
  }
  r.AddIndexEntry(&key);
  if (r.filter) {
    r.filter->AddKey(key);
  }
  if (r.units) {
    r.units->Add(key, value);
  }
  r.last_key.assign(key.data(), key.size());
  ++r.entries;
  r.data.Add(key, value);
  if (r.data.CurrentSizeEstimate() >= r.options.block_size) {
    Flush();
  }
}

void TableBuilder::Flush() {
  Rep& r = *rep_;
  if (!ok() || r.data.empty()) {
    return;
  }
  WriteBlock(&r.data, &r.pending);
  if (ok()) {
    r.has_pending_entry = true;
    r.status = r.file->Flush();
  }
  if (r.filter) {
    r.filter->StartBlock(r.offset);
  }
}

void TableBuilder::WriteBlock(BlockBuilder* block, BlockHandle* handle) {
  Rep& r = *rep_;
  Slice contents = block->Finish();
  CompressionType type = kNoCompression;
  static const bool has_snappy = HasSnappy();
  if (r.options.compression == kSnappyCompression && has_snappy) {
    r.compressed.resize(snappy::MaxCompressedLength(contents.size()));
    size_t size = 0;
    snappy::RawCompress(contents.data(), contents.size(), r.compressed.data(), &size);
    // Less than an eighth saved is not worth the time to decompress.
    if (size < contents.size() - contents.size() / 8) {
      contents = Slice(r.compressed.data(), size);
      type = kSnappyCompression;
    }
  }
  WriteRawBlock(contents, type, handle);
  block->Reset();
}

void TableBuilder::WriteRawBlock(const Slice& contents, CompressionType type, BlockHandle* handle) {
  Rep& r = *rep_;
  handle->Set(r.offset, contents.size());
  r.status = r.file->Append(contents);
  if (!ok()) {
    return;
  }
  std::string trailer(1, static_cast<char>(type));
  const uint32_t crc = crc32c::Extend(crc32c::Extend(0, contents.data(), contents.size()), trailer.data(), 1);
  // Stored rotated and with an offset, since checksums of data that has checksums are weak.
  PutFixed32(&trailer, crc32c::Mask(crc));
  r.status = r.file->Append(trailer);
  if (ok()) {
    r.offset += contents.size() + trailer.size();
  }
}

Status TableBuilder::status() const { return rep_->status; }

Status TableBuilder::Finish() {
  Rep& r = *rep_;
  Flush();
  // The one filter block, if there is one, and its metaindex entry.
  std::string name;
  std::string entry;
  BlockHandle block;
  if (ok() && r.filter) {
    WriteRawBlock(r.filter->Finish(), kNoCompression, &block);
    name = std::string("filter.") + r.options.filter_policy->Name();
    block.EncodeTo(&entry);
  } else if (ok() && r.units) {
    if (const Slice units = r.units->Finish(); !units.empty()) {
      WriteRawBlock(units, kNoCompression, &block);
      name = springbloom::kUnitBlockName;
      entry = r.units->EntryFor(block);
    }
  }
  BlockHandle metaindex_handle;
  BlockHandle index_handle;
  if (ok()) {
    BlockBuilder metaindex(&r.options);
    if (!name.empty()) {
      metaindex.Add(name, entry);
    }
    WriteBlock(&metaindex, &metaindex_handle);
  }
  if (ok()) {
    r.AddIndexEntry(nullptr);
    WriteBlock(&r.index, &index_handle);
  }
  if (ok()) {
    Footer footer;
    footer.Set(metaindex_handle, index_handle);
    std::string bytes;
    footer.EncodeTo(&bytes);
    r.status = r.file->Append(bytes);
    r.offset += ok() ? bytes.size() : 0;
  }
  return r.status;
}

void TableBuilder::Abandon() {}

uint64_t TableBuilder::NumEntries() const { return rep_->entries; }

uint64_t TableBuilder::FileSize() const { return rep_->offset; }

}  // namespace leveldb
