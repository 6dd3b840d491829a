// How the core reads table files by their names, sees whether they still exist, and writes to the database's log.
#pragma once

#include "abi.h"
#include "table/table_builder.h"

namespace springbloom {

// Shared by the tables of a database. It opens a file for the read, if no reader has it open: loads are rare, and a descriptor for each
// table would double what max_open_files allows. `options` are those of a reader of the database. Owned by the receiver of the result.
sb_file_access FileAccessFor(const rocksdb::TableReaderOptions& options);

}  // namespace springbloom
