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
  over.tail_size = options.tail_size;
  return over;
}

}  // namespace

RefusedTableReader::RefusedTableReader(ElasticRef elastic, std::unique_ptr<rocksdb::TableReader> stock,
                                       const TableReaderOptions& options, std::string path, uint64_t file_size)
    : ForwardingTableReader(*stock),
      elastic_(std::move(elastic)),
      path_(std::move(path)),
      file_size_(file_size),
      ioptions_(options.ioptions),
      comparator_(options.internal_comparator.user_comparator()),
      file_options_(options.env_options),
      prefix_extractor_(options.prefix_extractor),
      options_(OptionsOver(options, ioptions_, comparator_, file_options_, prefix_extractor_)),
      unfiltered_(std::move(stock)) {
  sb_refused_add(elastic_.get(), this, &Retry);
}

RefusedTableReader::~RefusedTableReader() { sb_refused_remove(elastic_.get(), this); }

void RefusedTableReader::MarkObsolete(uint32_t uncache_aggressiveness) {
  // From here on nobody retries.
  sb_refused_remove(elastic_.get(), this);
  Current().MarkObsolete(uncache_aggressiveness);
}

int RefusedTableReader::Retry(void* context) {
  auto* self = static_cast<RefusedTableReader*>(context);
  std::unique_ptr<rocksdb::RandomAccessFileReader> file;
  if (!rocksdb::RandomAccessFileReader::Create(self->options_.ioptions.fs, self->path_, self->file_options_, &file,
                                               nullptr)
           .ok()) {
    return SB_CORRUPT;
  }
  const auto unit_table = UnitTable::Find(rocksdb::ReadOptions(), self->options_, file.get(), self->file_size_);
  if (!unit_table) {
    return SB_CORRUPT;
  }
  int why = SB_OPENED;
  auto units = unit_table->Open(self->elastic_, self->options_, *self->stock_.GetTableProperties(), &why);
  if (units == nullptr) {
    return why;
  }
  self->filtered_ =
      std::make_unique<ElasticTableReader>(std::move(self->unfiltered_), std::move(units), self->options_);
  self->current_.store(self->filtered_.get(), std::memory_order_release);
  return SB_OPENED;
}

}  // namespace springbloom
