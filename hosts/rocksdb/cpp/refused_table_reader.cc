#include "refused_table_reader.h"

#include "file/random_access_file_reader.h"
#include "options/cf_options.h"
#include "unit_table.h"

namespace springbloom {

using rocksdb::TableReaderOptions;

namespace {

TableReaderOptions OptionsOver(const TableReaderOptions& options, const rocksdb::ImmutableOptions& ioptions,
                               const rocksdb::InternalKeyComparator& comparator,
                               const rocksdb::FileOptions& file_options,
                               const std::shared_ptr<const rocksdb::SliceTransform>& prefix_extractor) {
  TableReaderOptions over(ioptions, prefix_extractor, nullptr, file_options, comparator,
                          options.block_protection_bytes_per_key);
  over.level = options.level;
  // Of an ingested file, which does not say so itself: without it a lookup in an old snapshot would pass for one that sees all.
  over.largest_seqno = options.largest_seqno;
  over.tail_size = options.tail_size;
  return over;
}

}  // namespace

RefusedTableReader::Opening::Opening(const TableReaderOptions& given, std::string given_path, uint64_t given_size)
    : path(std::move(given_path)),
      file_size(given_size),
      ioptions(given.ioptions),
      comparator(given.internal_comparator.user_comparator()),
      file_options(given.env_options),
      prefix_extractor(given.prefix_extractor),
      options(OptionsOver(given, ioptions, comparator, file_options, prefix_extractor)) {}

RefusedTableReader::RefusedTableReader(ElasticRef elastic, std::unique_ptr<rocksdb::TableReader> stock,
                                       const TableReaderOptions& options, std::string path, uint64_t file_size)
    : ForwardingTableReader(*stock.release()),
      elastic_(std::move(elastic)),
      opening_(std::make_unique<const Opening>(options, std::move(path), file_size)) {
  sb_refused_add(elastic_.get(), this, &Retry);
}

RefusedTableReader::~RefusedTableReader() {
  sb_refused_remove(elastic_.get(), this);
  if (const ElasticTableReader* filtered = filtered_.load(std::memory_order_acquire)) {
    delete filtered;
    sb_give_back(elastic_.get(), sizeof(*this));
  } else {
    delete &stock_;
  }
}

void RefusedTableReader::MarkObsolete(uint32_t uncache_aggressiveness) {
  // From here on nobody retries.
  sb_refused_remove(elastic_.get(), this);
  Current().MarkObsolete(uncache_aggressiveness);
}

int RefusedTableReader::Retry(void* context) {
  auto* self = static_cast<RefusedTableReader*>(context);
  const Opening& opening = *self->opening_;
  std::unique_ptr<rocksdb::RandomAccessFileReader> file;
  if (!rocksdb::RandomAccessFileReader::Create(opening.ioptions.fs, opening.path, opening.file_options, &file, nullptr)
           .ok()) {
    return SB_CORRUPT;
  }
  const auto unit_table = UnitTable::Find(rocksdb::ReadOptions(), opening.options, file.get(), opening.file_size);
  if (!unit_table) {
    return SB_CORRUPT;
  }
  // For the shell that this reader is from then on.
  if (!sb_reserve(self->elastic_.get(), sizeof(*self))) {
    return SB_NO_ROOM;
  }
  int why = SB_OPENED;
  std::optional<OpenTable> table =
      unit_table->Open(self->elastic_, opening.options, *self->stock_.GetTableProperties(), &why);
  if (!table) {
    sb_give_back(self->elastic_.get(), sizeof(*self));
    return why;
  }
  auto filtered = std::make_unique<ElasticTableReader>(std::unique_ptr<rocksdb::TableReader>(&self->stock_),
                                                       std::move(*table), opening.options);
  self->filtered_.store(filtered.release(), std::memory_order_release);
  // Whoever looks up does not need it, and nobody retries again.
  self->opening_.reset();
  return SB_OPENED;
}

}  // namespace springbloom
