package org.springbloom.rocksdb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;

class PlainRocksJavaTest {
  private static final int KEYS = 50_000;

  @TempDir Path folder;

  @Test
  void theJarIsTheOneThatThisRunIsFor() {
    assertEquals(System.getProperty("release"), RocksDB.rocksdbVersion().toString());
  }

  @Test
  void lookupsAreFilteredAndTheStockJarReadsTheResult() throws Exception {
    try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
        RocksDB database = Stores.open(options, folder)) {
      Stores.fill(database, KEYS);
      database.compactRange();
      Stores.waitIdle();
      SpringbloomStats before = Springbloom.stats();
      Stores.check(database, KEYS);
      SpringbloomStats after = Springbloom.stats();
      long avoided = after.avoidedReads() - before.avoidedReads();
      long wasted = after.wastedReads() - before.wastedReads();
      assertEquals(KEYS, after.truePositives() - before.truePositives(), after.toString());
      // Absent keys lie between those of a table, so each met one table but for those between two tables.
      assertTrue(avoided > KEYS * 0.95 && wasted < KEYS * 0.05, avoided + " avoided, " + wasted + " wasted");
      assertTrue(after.usedBytes() > 0 && after.usedBytes() <= after.budgetBytes(), after.toString());
      assertEquals(16 << 20, after.budgetBytes());
      String name = "springbloom_family_tables{database=\"" + folder + "\",family=\"default\"}";
      assertEquals((double) after.tables(), after.values().get(name), after.toString());
      FamilyStatus status = Stores.status(database);
      assertTrue(status.isActive() && status.tablesWithUnits() > 1 && status.tablesWithoutUnits() == 0, status.toString());
    }
    try (Options options = Stores.options(new BlockBasedTableConfig());
        RocksDB database = Stores.open(options, folder)) {
      Stores.check(database, KEYS);
      database.verifyChecksum();
      database.compactRange();
      Stores.check(database, KEYS);
    }
  }

  @Test
  void optionsOfTheFormatAreKept() throws Exception {
    RocksDB.loadLibrary();
    try (LRUCache cache = new LRUCache(3 << 20);
        BloomFilter bloom = new BloomFilter(10);
        Statistics statistics = new Statistics()) {
      BlockBasedTableConfig given = new BlockBasedTableConfig().setBlockCache(cache).setBlockSize(2048).setFilterPolicy(bloom);
      // What stock RocksDB wrote keeps its filters.
      try (Options options = Stores.options(given);
          RocksDB database = Stores.open(options, folder)) {
        Stores.fill(database, KEYS / 10);
      }
      SpringbloomTableConfig ours = new SpringbloomTableConfig(Stores.AMPLE, given);
      try (Options options = Stores.options(ours).setStatistics(statistics);
          RocksDB database = Stores.open(options, folder)) {
        assertEquals(2048, ours.blockSize());
        assertTrue(Stores.status(database).tablesWithoutUnits() > 0, Stores.status(database).toString());
        Stores.check(database, KEYS / 10);
        assertEquals(3 << 20, database.getLongProperty("rocksdb.block-cache-capacity"));
        assertTrue(statistics.getTickerCount(TickerType.BLOOM_FILTER_USEFUL) > KEYS / 10 * 0.9);
      }
    }
  }
}
