// How the core reads table files of a database.
#pragma once

#include "leveldb/options.h"
#include "springbloom_abi.h"

namespace springbloom {

// Reads through the options' Env and tells their log, which both outlive it.
sb_file_access MakeFileAccess(const leveldb::Options& options);

}  // namespace springbloom
