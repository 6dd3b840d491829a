package org.springbloom.clusters;

import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.IndexType;

/** What the filters of a comparison need of RocksDB. {@link Filters#SPRINGBLOOM} needs its own class of configuration beside. */
public final class TableOptions {
  private static final int PIECE_BYTES = 4096;
  private static final BloomFilter TEN_BITS = new BloomFilter(10);

  private TableOptions() {}

  public static void configure(Filters filters, BlockBasedTableConfig tables) {
    boolean isInPieces = filters == Filters.PARTITIONED || filters == Filters.SPRINGBLOOM;
    if (filters != Filters.SPRINGBLOOM) {
      tables.setFilterPolicy(TEN_BITS);
    }
    tables.setCacheIndexAndFilterBlocks(filters != Filters.BLOOM).setCacheIndexAndFilterBlocksWithHighPriority(true);
    if (isInPieces) {
      tables.setIndexType(IndexType.kTwoLevelIndexSearch).setMetadataBlockSize(PIECE_BYTES).setPinTopLevelIndexAndFilter(true);
      tables.setPartitionFilters(filters == Filters.PARTITIONED);
    }
  }
}
