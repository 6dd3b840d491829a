// Values that the Rust crate has no calls for: wide columns, merge operands one by one, blobs inside a table file.
#include "check.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/wide_columns.h"

using namespace springbloom_test;
using rocksdb::PinnableSlice;
using rocksdb::PinnableWideColumns;
using rocksdb::ReadOptions;
using rocksdb::Status;
using rocksdb::WideColumns;
using rocksdb::WriteOptions;

namespace {

// Even numbers are there, odd ones between them are not.
constexpr int kValues = 3000;

void CheckEntities(rocksdb::DB* db, const std::string& when) {
  rocksdb::ColumnFamilyHandle* family = db->DefaultColumnFamily();
  for (int number = 0; number < kValues; ++number) {
    const std::string key = Key(number);
    PinnableWideColumns columns;
    std::string value;
    const Status entity = db->GetEntity(ReadOptions(), family, key, &columns);
    const Status plain = db->Get(ReadOptions(), key, &value);
    if (number % 2 != 0) {
      Check(entity.IsNotFound() && plain.IsNotFound(), when + ": " + key + " is absent");
      continue;
    }
    CheckOk(entity, when + ": GetEntity " + key);
    CheckOk(plain, when + ": Get " + key);
    const std::string expected = "default of " + key;
    Check(value == expected, when + ": " + key + " has " + value);
    const bool wide = number % 4 == 0;
    Check(columns.columns().size() == (wide ? 2u : 1u) && columns.columns()[0].value() == expected, when + ": columns of " + key);
    Check(!wide || columns.columns()[1].value() == "wide of " + key, when + ": second column of " + key);
  }
  std::vector<std::string> keys;
  for (int number = 0; number < 60; ++number) {
    keys.push_back(Key(number));
  }
  const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<PinnableWideColumns> results(slices.size());
  std::vector<Status> statuses(slices.size());
  db->MultiGetEntity(ReadOptions(), family, slices.size(), slices.data(), results.data(), statuses.data());
  for (size_t i = 0; i < slices.size(); ++i) {
    Check(i % 2 == 0 ? statuses[i].ok() : statuses[i].IsNotFound(), when + ": MultiGetEntity " + keys[i]);
  }
}

}  // namespace

extern "C" int springbloom_test_wide_columns(void* options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    auto db = Open(springbloom::OptionsIn(options), path);
    for (int stride = 0; stride < 14; stride += 2) {
      for (int number = stride; number < kValues; number += 14) {
        const std::string key = Key(number);
        const std::string value = "default of " + key;
        const std::string wide = "wide of " + key;
        if (number % 4 == 0) {
          CheckOk(db->PutEntity(WriteOptions(), db->DefaultColumnFamily(), key,
                                WideColumns{{rocksdb::kDefaultWideColumnName, value}, {"wide", wide}}),
                  "PutEntity");
        } else {
          CheckOk(db->Put(WriteOptions(), key, value), "Put");
        }
      }
      CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
    }
    CheckEntities(db.get(), "flushed");
    CheckOk(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "CompactRange");
    CheckEntities(db.get(), "compacted");
  });
}

// The options have a merge operator that appends, and no automatic compactions.
extern "C" int springbloom_test_merge_operands(void* options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    auto db = Open(springbloom::OptionsIn(options), path);
    constexpr int kRounds = 6;
    for (int round = 0; round < kRounds; ++round) {
      for (int number = 0; number < kValues; number += round + 1) {
        CheckOk(db->Merge(WriteOptions(), Key(number), "operand " + std::to_string(round)), "Merge");
      }
      CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
    }
    for (int number = 0; number < kValues; ++number) {
      for (const bool present : {true, false}) {
        const std::string key = Key(number) + (present ? "" : "?");
        PinnableSlice operands[kRounds];
        rocksdb::GetMergeOperandsOptions merge_options;
        merge_options.expected_max_number_of_operands = kRounds;
        int count = 0;
        const Status s = db->GetMergeOperands(ReadOptions(), db->DefaultColumnFamily(), key, operands, &merge_options, &count);
        if (!present) {
          Check(s.IsNotFound(), key + " is absent, got " + s.ToString());
          continue;
        }
        CheckOk(s, "GetMergeOperands " + key);
        int at = 0;
        for (int round = 0; round < kRounds; ++round) {
          if (number % (round + 1) == 0) {
            Check(at < count && operands[at] == "operand " + std::to_string(round), "operands of " + key);
            ++at;
          }
        }
        Check(at == count, "as many operands as were written of " + key);
      }
    }
  });
}

#if SPRINGBLOOM_ROCKSDB >= 110800
extern "C" int springbloom_test_embedded_blobs(void* options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    const rocksdb::Options& opened = springbloom::OptionsIn(options);
    auto db = Open(opened, path);
    const std::string file = std::string(path) + "/blobs.sst";
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), opened);
    rocksdb::SstFileWriterEmbeddedBlobOptions blobs;
    blobs.min_blob_size = 100;
    CheckOk(writer.OpenWithEmbeddedBlobs(file, blobs), "OpenWithEmbeddedBlobs");
    const auto value = [](int number) { return Key(number) + std::string(static_cast<size_t>(number % 400), 'b'); };
    for (int number = 0; number < kValues; number += 2) {
      CheckOk(writer.Put(Key(number), value(number)), "Put");
    }
    CheckOk(writer.Finish(), "Finish");
    CheckOk(db->IngestExternalFile({file}, rocksdb::IngestExternalFileOptions()), "IngestExternalFile");
    // Often, as units are loaded meanwhile. No absent key twice: it would be remembered.
    for (int pass = 0; pass < 20; ++pass) {
      for (int number = 0; number < kValues; ++number) {
        const bool is_present = number % 2 == 0;
        const std::string key = is_present ? Key(number) : Key(number) + "." + std::to_string(pass);
        std::string got;
        const Status s = db->Get(ReadOptions(), key, &got);
        Check(is_present ? s.ok() && got == value(number) : s.IsNotFound(), key + ": " + s.ToString());
      }
      if (pass == 9) {
        CheckOk(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "CompactRange");
      }
    }
  });
}
#else
SPRINGBLOOM_TEST_OF_NEWER_RELEASES(springbloom_test_embedded_blobs)
#endif
