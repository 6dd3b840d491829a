// Orders other than LevelDB's own.
#pragma once

#include <cctype>
#include <string>

#include "leveldb/comparator.h"

// Keys in another order, in which equal keys may differ in their bytes.
class Reordered : public leveldb::Comparator {
 public:
  explicit Reordered(bool folds_case) : folds_case_(folds_case) {}
  const char* Name() const override { return folds_case_ ? "test.FoldsCase" : "test.Backwards"; }
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    return folds_case_ ? Folded(a).compare(Folded(b)) : b.compare(a);
  }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static std::string Folded(const leveldb::Slice& key) {
    std::string folded = key.ToString();
    for (char& letter : folded) {
      letter = static_cast<char>(std::tolower(letter));
    }
    return folded;
  }
  const bool folds_case_;
};

inline const Reordered backwards(false);
inline const Reordered folds_case(true);
