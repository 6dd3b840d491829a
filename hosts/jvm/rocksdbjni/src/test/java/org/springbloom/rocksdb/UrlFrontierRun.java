package org.springbloom.rocksdb;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.IndexType;
import org.rocksdb.LRUCache;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;
import org.rocksdb.WriteOptions;

/**
 * The store of a crawler's frontier, as URL Frontier has it (crawler-commons/url-frontier#186, #189), an eighth as large: 1.4 million URLs
 * in place of 11, and memory for writes and block cache in proportion. An insert looks its URL up; nine of ten are new. Filters are set up
 * as there at first ({@code cached}), as they were mended ({@code resident}), as is usual ({@code partitioned}), and as at first with
 * Springbloom. All get the same inserts by turns. Prints a row for each: setting, bytes of filters read into the cache and all bytes read
 * per insert, memory for blocks, indexes and filters, inserts per second.
 */
class UrlFrontierRun {
  private static final int URLS = Integer.getInteger("urlfrontier.urls", 1_400_000);
  private static final int ROUNDS = 3;
  private static final int INSERTS = Integer.getInteger("urlfrontier.inserts", 10_000);
  private static final long CACHE_BYTES = 256 << 20 >> 3;

  @TempDir Path folder;

  @Test
  void compare() throws Exception {
    // The jar of URL Frontier.
    assumeTrue(System.getProperty("release").equals("9.7.3"));
    RocksDB.loadLibrary();
    List<Frontier> frontiers = new ArrayList<>();
    // Not two with Springbloom: they would share a budget.
    for (String setting : System.getProperty("urlfrontier.settings", "cached,partitioned,resident,springbloom").split(",")) {
      Frontier frontier = new Frontier(setting, folder.resolve(setting));
      frontier.load();
      frontiers.add(frontier);
    }
    for (int round = 0; round < ROUNDS; round++) {
      for (Frontier frontier : frontiers) {
        frontier.insert(URLS + round * INSERTS);
      }
    }
    for (Frontier frontier : frontiers) {
      System.out.println(frontier.row());
      frontier.close();
    }
  }

  private static BlockBasedTableConfig tablesOf(String setting, LRUCache cache) {
    BlockBasedTableConfig tables = new BlockBasedTableConfig().setFilterPolicy(new BloomFilter(10, false)).setBlockCache(cache);
    if (setting.equals("resident")) {
      return tables;
    }
    tables
        .setCacheIndexAndFilterBlocks(true)
        .setCacheIndexAndFilterBlocksWithHighPriority(true)
        .setPinL0FilterAndIndexBlocksInCache(true)
        .setOptimizeFiltersForMemory(true);
    if (setting.contains("partitioned")) {
      tables.setPartitionFilters(true).setIndexType(IndexType.kTwoLevelIndexSearch).setPinTopLevelIndexAndFilter(true);
    }
    if (setting.contains("springbloom")) {
      return new SpringbloomTableConfig(SpringbloomSettings.budget("2MiB").with("charge_to_block_cache", "true"), tables);
    }
    return tables;
  }

  private static final class Frontier implements AutoCloseable {
    private final String setting;
    private final Statistics statistics = new Statistics();
    private final LRUCache cache = new LRUCache(CACHE_BYTES);
    private final WriteOptions unlogged = new WriteOptions().setDisableWAL(true);
    private final WriteOptions logged = new WriteOptions();
    private final ColumnFamilyOptions familyOptions = new ColumnFamilyOptions();
    private final DBOptions options = new DBOptions();
    private final List<ColumnFamilyHandle> families = new ArrayList<>();
    private final RocksDB database;
    private long nanoseconds;
    private long filterBytes;
    private long bytes;

    Frontier(String setting, Path folder) throws Exception {
      this.setting = setting;
      familyOptions.optimizeUniversalStyleCompaction(512 << 20 >> 3).setTableFormatConfig(tablesOf(setting, cache));
      options.setCreateIfMissing(true).setCreateMissingColumnFamilies(true).setStatistics(statistics);
      List<ColumnFamilyDescriptor> descriptors =
          List.of(
              new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, familyOptions),
              new ColumnFamilyDescriptor("queues".getBytes(StandardCharsets.UTF_8), familyOptions));
      Files.createDirectories(folder);
      database = RocksDB.open(options, folder.toString(), descriptors, families);
    }

    void load() throws Exception {
      for (int i = 0; i < URLS; i++) {
        put(i, unlogged);
      }
      settle();
    }

    /** Until nothing is compacted or flushed in the background. */
    private void settle() throws Exception {
      int quiet = 0;
      while (quiet < 5) {
        boolean isBusy = false;
        for (ColumnFamilyHandle family : families) {
          for (String name : List.of("num-running-compactions", "num-running-flushes", "compaction-pending", "mem-table-flush-pending")) {
            isBusy |= database.getLongProperty(family, "rocksdb." + name) != 0;
          }
        }
        quiet = isBusy ? 0 : quiet + 1;
        Thread.sleep(100);
      }
    }

    void insert(int first) throws Exception {
      long filterBytesBefore = statistics.getTickerCount(TickerType.BLOCK_CACHE_FILTER_BYTES_INSERT);
      long bytesBefore = bytesRead();
      long begin = System.nanoTime();
      SplittableRandom random = new SplittableRandom(first);
      for (int i = first; i < first + INSERTS; i++) {
        int number = random.nextInt(10) == 0 ? random.nextInt(first) : i;
        byte[] found = database.get(families.get(0), existenceKey(number));
        if (number < URLS && found == null) {
          throw new AssertionError(setting + " does not find URL " + number);
        }
        if (found == null) {
          put(number, logged);
        }
      }
      nanoseconds += System.nanoTime() - begin;
      bytes += bytesRead() - bytesBefore;
      filterBytes += statistics.getTickerCount(TickerType.BLOCK_CACHE_FILTER_BYTES_INSERT) - filterBytesBefore;
      settle();
    }

    /** By lookups: of blocks, into the cache, and of units. Compaction fills no cache. */
    private long bytesRead() {
      long blocks =
          statistics.getTickerCount(TickerType.BLOCK_CACHE_FILTER_BYTES_INSERT)
              + statistics.getTickerCount(TickerType.BLOCK_CACHE_INDEX_BYTES_INSERT)
              + statistics.getTickerCount(TickerType.BLOCK_CACHE_DATA_BYTES_INSERT);
      boolean isElastic = setting.contains("springbloom");
      return blocks + (isElastic ? Springbloom.stats().values().get("springbloom_unit_read_bytes_total").longValue() : 0);
    }

    private void put(int number, WriteOptions how) throws RocksDBException {
      byte[] schedulingKey = ("crawl_" + host(number) + "_1790000000_" + url(number)).getBytes(StandardCharsets.UTF_8);
      byte[] info = (url(number) + host(number) + "parent=" + url(number / 50)).getBytes(StandardCharsets.UTF_8);
      database.put(families.get(1), how, schedulingKey, info);
      database.put(families.get(0), how, existenceKey(number), schedulingKey);
    }

    private static byte[] existenceKey(int number) {
      return ("crawl_" + host(number) + "_" + url(number)).getBytes(StandardCharsets.UTF_8);
    }

    private static String host(int number) {
      return "s" + (mixed(number) >>> 1) % 20_000 + ".example";
    }

    private static String url(int number) {
      return "https://" + host(number) + "/" + Long.toHexString(mixed(number));
    }

    private static long mixed(int number) {
      return new SplittableRandom(number).nextLong();
    }

    String row() throws RocksDBException {
      long memory = cache.getUsage();
      for (ColumnFamilyHandle family : families) {
        memory += database.getLongProperty(family, "rocksdb.estimate-table-readers-mem");
      }
      double inserts = ROUNDS * INSERTS;
      return String.format(
          "| `%s` | %,.0f | %,.0f | %.1f MiB | %,.0f |",
          setting, filterBytes / inserts, bytes / inserts, memory / 1048576.0, inserts / (nanoseconds / 1e9));
    }

    @Override
    public void close() {
      families.forEach(ColumnFamilyHandle::close);
      database.close();
      List.of(options, familyOptions, unlogged, logged, statistics, cache).forEach(each -> each.close());
    }
  }
}
