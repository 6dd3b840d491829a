#pragma once

#include <string>

#include "leveldb/status.h"

// Of this thread.
std::string& LastError();

inline bool Failed(const leveldb::Status& s) {
  if (!s.ok()) {
    LastError() = s.ToString();
  }
  return !s.ok();
}
