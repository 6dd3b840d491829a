// What the index of a table would take with other options: the first blocks of the table are rewritten in memory with each of them.
#include <memory>
#include <span>
#include <vector>

#include "abi.h"
#include "owners.h"
#include "rocksdb/env.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"

namespace {

using rocksdb::Status;

// The program's own merge operator is not known. An index has keys alone, and an operand is about as large as its result.
class LastOperand final : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "springbloom.LastOperand"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice*, const rocksdb::Slice& operand, std::string* result,
             rocksdb::Logger*) const override {
    result->assign(operand.data(), operand.size());
    return true;
  }
};

std::string PathOf(size_t table) { return "/" + std::to_string(table) + ".sst"; }

rocksdb::Options OptionsWith(rocksdb::Env* memory, const springbloom_index_options& index) {
  rocksdb::Options options;
  options.env = memory;
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  table.index_block_restart_interval = static_cast<int>(index.restart_interval);
  table.block_size = index.block_bytes;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

Status Measure(const std::string& path, uint64_t data_bytes, std::span<const springbloom_index_options> indexes,
               springbloom_index_size* sizes) {
  rocksdb::Options read_with;
  read_with.merge_operator = std::make_shared<LastOperand>();
  rocksdb::SstFileReader reader(read_with);
  Status s = reader.Open(path);
  if (!s.ok()) {
    return s;
  }
  const std::unique_ptr<rocksdb::Env> memory(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  std::vector<std::unique_ptr<rocksdb::SstFileWriter>> tables;
  for (const springbloom_index_options& index : indexes) {
    tables.push_back(std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), OptionsWith(memory.get(), index)));
    s = tables.back()->Open(PathOf(tables.size() - 1));
    if (!s.ok()) {
      return s;
    }
  }
  rocksdb::ReadOptions read_options;
  read_options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> entries(reader.NewIterator(read_options));
  uint64_t rewritten_bytes = 0;
  for (entries->SeekToFirst(); entries->Valid() && rewritten_bytes < data_bytes; entries->Next()) {
    rewritten_bytes += entries->key().size() + entries->value().size();
    for (const auto& table : tables) {
      s = table->Put(entries->key(), entries->value());
      if (!s.ok()) {
        return s;  // keys that are not in the order of bytes
      }
    }
  }
  s = entries->status();
  for (size_t i = 0; i < tables.size() && s.ok(); ++i) {
    rocksdb::SstFileReader rewritten(OptionsWith(memory.get(), indexes[i]));
    s = tables[i]->Finish();
    if (s.ok()) {
      s = rewritten.Open(PathOf(i));
    }
    if (s.ok()) {
      const auto properties = rewritten.GetTableProperties();
      sizes[i] = {properties->num_entries, properties->num_data_blocks, properties->data_size, properties->index_size};
    }
  }
  return s;
}

}  // namespace

extern "C" int springbloom_measure_indexes(sb_bytes path, uint64_t data_bytes, const springbloom_index_options* indexes,
                                           springbloom_index_size* sizes, size_t count, char* error, size_t error_size) noexcept {
  return springbloom::Told(Measure(springbloom::ToSlice(path).ToString(), data_bytes, {indexes, count}, sizes), error,
                           error_size);
}
