// What a database should hold: the naive model that all tests compare with.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "check.h"
#include "leveldb/comparator.h"

struct Less {
  const leveldb::Comparator* comparator;
  bool operator()(const std::string& a, const std::string& b) const { return comparator->Compare(a, b) < 0; }
};
using Contents = std::map<std::string, std::string, Less>;

inline Contents NoContents(const leveldb::Comparator* comparator = leveldb::BytewiseComparator()) {
  return Contents(Less{comparator});
}

// Of all checks so far: a lookup, or an entry of a scan.
inline uint64_t answers = 0;

inline void CheckGet(leveldb::DB* db, const leveldb::ReadOptions& options, const Contents& contents, const std::string& key) {
  ++answers;
  std::string value;
  const leveldb::Status s = db->Get(options, key, &value);
  const auto found = contents.find(key);
  if (found == contents.end()) {
    CHECK(s.IsNotFound(), "%s should be absent: %s", key.c_str(), s.ToString().c_str());
  } else {
    CHECK(s.ok(), "%s: %s", key.c_str(), s.ToString().c_str());
    CHECK(value == found->second, "%s", key.c_str());
  }
}

// `limit` entries from `start` on, forwards or backwards.
inline void CheckWalk(leveldb::Iterator* entry, const Contents& contents, const std::string& start, size_t limit,
                      bool backwards) {
  auto expected = contents.lower_bound(start);
  entry->Seek(start);
  for (size_t at = 0; at < limit; ++at) {
    CHECK(entry->Valid() == (expected != contents.end()), "a scan ends where it should");
    if (!entry->Valid()) {
      break;
    }
    // Equal keys may differ in their bytes.
    CHECK(!contents.key_comp()(entry->key().ToString(), expected->first) &&
          !contents.key_comp()(expected->first, entry->key().ToString()));
    CHECK(entry->value() == leveldb::Slice(expected->second));
    ++answers;
    if (!backwards) {
      entry->Next();
      ++expected;
    } else if (expected == contents.begin()) {
      entry->Prev();
      expected = contents.end();
    } else {
      entry->Prev();
      --expected;
    }
  }
  CHECK_OK(entry->status());
}

// The same of a new iterator.
inline void CheckScan(leveldb::DB* db, const leveldb::ReadOptions& options, const Contents& contents, const std::string& start,
                      size_t limit, bool backwards) {
  const std::unique_ptr<leveldb::Iterator> entry(db->NewIterator(options));
  CheckWalk(entry.get(), contents, start, limit, backwards);
}

inline void CheckAll(leveldb::DB* db, const Contents& contents) {
  const leveldb::ReadOptions options;
  CheckScan(db, options, contents, contents.empty() ? "" : contents.begin()->first, contents.size() + 1, false);
  for (const auto& [key, value] : contents) {
    CheckGet(db, options, contents, key);
    CheckGet(db, options, contents, key + "~");
  }
}
