// Transactions of which only C++ has all kinds: written before they commit, read through a callback that hides what has not.
#include "check.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"

using namespace springbloom_test;
using rocksdb::ReadOptions;
using rocksdb::Status;
using rocksdb::WriteOptions;

namespace {

constexpr int kTransactions = 2000;

void CheckAll(rocksdb::DB* db, const rocksdb::Snapshot* snapshot, const std::string& expected, const std::string& when) {
  ReadOptions read_options;
  read_options.snapshot = snapshot;
  for (int number = 0; number < kTransactions; ++number) {
    std::string value;
    const Status s = db->Get(read_options, Key(number), &value);
    Check(number % 2 == 0 && !expected.empty() ? s.ok() && value == expected : s.IsNotFound(),
          when + ": " + Key(number) + ": " + s.ToString() + " " + value);
  }
}

void WriteAll(rocksdb::Transaction* transaction, const std::string& value) {
  for (int number = 0; number < kTransactions; number += 2) {
    CheckOk(transaction->Put(Key(number), value), "Put");
  }
}

void TestPolicy(const rocksdb::Options& options, rocksdb::TxnDBWritePolicy policy, const std::string& path) {
  rocksdb::TransactionDBOptions transaction_options;
  transaction_options.write_policy = policy;
  rocksdb::TransactionDB* opened = nullptr;
  CheckOk(rocksdb::TransactionDB::Open(options, transaction_options, path, &opened), "open");
  const std::unique_ptr<rocksdb::TransactionDB> db(opened);

  std::unique_ptr<rocksdb::Transaction> transaction(db->BeginTransaction(WriteOptions()));
  WriteAll(transaction.get(), "first");
  CheckOk(transaction->Commit(), "Commit");
  CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
  CheckAll(db.get(), nullptr, "first", "committed");

  const rocksdb::Snapshot* snapshot = db->GetSnapshot();
  transaction.reset(db->BeginTransaction(WriteOptions()));
  CheckOk(transaction->SetName("prepared"), "SetName");
  WriteAll(transaction.get(), "second");
  CheckOk(transaction->Prepare(), "Prepare");
  // Prepared data may lie in a table, where its keys are in the filters and its values must not be seen.
  CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
  CheckAll(db.get(), nullptr, "first", "prepared");
  CheckOk(transaction->Commit(), "Commit");
  CheckAll(db.get(), nullptr, "second", "committed after it was prepared");
  CheckAll(db.get(), snapshot, "first", "in a snapshot");
  CheckOk(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "CompactRange");
  CheckAll(db.get(), snapshot, "first", "in a snapshot after compaction");
  db->ReleaseSnapshot(snapshot);

  transaction.reset(db->BeginTransaction(WriteOptions()));
  CheckOk(transaction->SetName("undone"), "SetName");
  WriteAll(transaction.get(), "third");
  CheckOk(transaction->Prepare(), "Prepare");
  CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
  CheckOk(transaction->Rollback(), "Rollback");
  CheckAll(db.get(), nullptr, "second", "rolled back");
  CheckOk(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "CompactRange");
  CheckAll(db.get(), nullptr, "second", "rolled back and compacted");
}

}  // namespace

extern "C" int springbloom_test_prepared_transactions(void* options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    const rocksdb::Options& given = springbloom::OptionsIn(options);
    TestPolicy(given, rocksdb::TxnDBWritePolicy::WRITE_PREPARED, std::string(path) + "/prepared");
    TestPolicy(given, rocksdb::TxnDBWritePolicy::WRITE_UNPREPARED, std::string(path) + "/unprepared");
  });
}
