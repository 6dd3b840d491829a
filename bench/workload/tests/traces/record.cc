// Writes the query traces of tests/traces/golden.rs with RocksDB itself:
//
//   g++ -std=c++20 -I ROCKSDB/include record.cc librocksdb.a -lz -lzstd -llz4 -lsnappy -lbz2 -lpthread -ldl -o record
//   record one 1.trace; record two 2.trace
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/trace_reader_writer.h"
#include "rocksdb/write_batch.h"

using namespace rocksdb;

static void Check(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const bool two_families = std::string(arguments[1]) == "two";
  const std::string path = "/tmp/springbloom-record-trace";
  Options options;
  options.create_if_missing = true;
  Check(DestroyDB(path, options));
  std::unique_ptr<DB> db;
  Check(DB::Open(options, path, &db));
  ColumnFamilyHandle* other = nullptr;
  if (two_families) Check(db->CreateColumnFamily(ColumnFamilyOptions(), "other", &other));
  std::unique_ptr<TraceWriter> writer;
  Check(NewFileTraceWriter(db->GetEnv(), EnvOptions(), arguments[2], &writer));
  Check(db->StartTrace(TraceOptions(), std::move(writer)));
  const WriteOptions write;
  const ReadOptions read;
  std::string value;
  Check(db->Put(write, "apple", "1234"));
  WriteBatch batch;
  Check(batch.Put("banana", std::string(300, 'v')));
  Check(batch.Delete("cherry"));
  Check(batch.SingleDelete("damson"));
  Check(batch.PutLogData("not a write"));
  Check(batch.DeleteRange("x", "y"));
  if (two_families) Check(batch.Put(other, "apple", "of the other"));
  Check(db->Write(write, &batch));
  Check(db->Get(read, "apple", &value));
  if (!db->Get(read, Slice("\0\xff", 2), &value).IsNotFound()) return 1;
  if (two_families) Check(db->Get(read, other, "apple", &value));
  std::vector<std::string> values;
  db->MultiGet(read, std::vector<Slice>{"banana", "elder"}, &values);
  const Slice upper("f");
  ReadOptions bounded;
  bounded.iterate_upper_bound = &upper;
  std::unique_ptr<Iterator> iterator(db->NewIterator(bounded));
  iterator->Seek("b");
  iterator->SeekForPrev("c");
  iterator.reset();
  Check(db->EndTrace());
  if (other != nullptr) Check(db->DestroyColumnFamilyHandle(other));
  Check(db->Close());
}
