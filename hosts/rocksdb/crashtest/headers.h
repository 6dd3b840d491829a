// Compiled once for all of RocksDB's sources: most of their compilation is the reading of these.
#include "db/db_impl/db_impl.h"
#include "table/block_based/block_based_table_builder.h"
#include "table/block_based/block_based_table_reader.h"
#include "test_util/sync_point.h"
