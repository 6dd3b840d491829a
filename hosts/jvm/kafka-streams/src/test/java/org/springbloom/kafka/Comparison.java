package org.springbloom.kafka;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;

/**
 * Compares filters in a table of Kafka Streams whose lookups find nothing half of the time, as those of a left join do, at the same memory
 * for blocks, indexes and filters together. A process for each mode; prints a row:
 * filters, memory, blocks read per lookup (not found in the cache), lookups per second.
 *
 * <p>{@code main MODE KEYS MEMORY_BYTES FOLDER}, which {@link ComparisonRun} calls: MODE is {@code stock}, {@code all-levels} or {@code
 * springbloom}.
 */
public final class Comparison {
  private static final Map<String, String> MODES =
      Map.of(
          "stock", "Bloom filters as Kafka Streams sets them: none on the last level",
          "all-levels", "Bloom filters, 10 bits per key, on all levels",
          "springbloom", "Springbloom");

  private static String mode;
  private static long memoryBytes;
  private static LRUCache cache;
  private static Statistics statistics;

  private Comparison() {}

  /** What all modes have in common: small write buffers, and one cache for blocks and indexes, with a limit. */
  private static void bound(Options options) {
    BlockBasedTableConfig tables = (BlockBasedTableConfig) options.tableFormatConfig();
    tables.setBlockCache(cache).setCacheIndexAndFilterBlocks(true).setFilterPolicy(new BloomFilter(10));
    options.setTableFormatConfig(tables).setWriteBufferSize(1 << 20).setStatistics(statistics);
  }

  /** Of stock RocksDB. */
  public static class Stock implements RocksDBConfigSetter {
    @Override
    public void setConfig(String storeName, Options options, Map<String, Object> configs) {
      bound(options);
      options.setOptimizeFiltersForHits(mode.equals("stock"));
    }

    @Override
    public void close(String storeName, Options options) {}
  }

  /** A part of the memory is the budget. */
  public static class Elastic extends SpringbloomRocksDBConfigSetter {
    @Override
    public void setConfig(String storeName, Options options, Map<String, Object> configs) {
      bound(options);
      super.setConfig(storeName, options, configs);
    }
  }

  public static void main(String[] arguments) throws Exception {
    mode = arguments[0];
    int keys = Integer.parseInt(arguments[1]);
    memoryBytes = Long.parseLong(arguments[2]);
    Path folder = Files.createTempDirectory(Paths.get(arguments[3]), "comparison");
    RocksDB.loadLibrary();
    boolean isElastic = mode.equals("springbloom");
    long budgetBytes = isElastic ? memoryBytes / 4 : 0;
    cache = new LRUCache(memoryBytes - budgetBytes, 0);
    statistics = new Statistics();
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "comparison");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, folder.toString());
    properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    properties.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, isElastic ? Elastic.class : Stock.class);
    properties.put("springbloom.budget", String.valueOf(budgetBytes));
    StreamsBuilder builder = new StreamsBuilder();
    Materialized<String, String, KeyValueStore<Bytes, byte[]>> table = Materialized.as("table-store");
    builder.table("table", table.withKeySerde(Serdes.String()).withValueSerde(Serdes.String()).withLoggingDisabled());
    try (TopologyTestDriver driver = new TopologyTestDriver(builder.build(), properties)) {
      measure(driver.getKeyValueStore("table-store"), keys);
    } finally {
      delete(folder);
    }
  }

  private static void measure(KeyValueStore<String, String> store, int keys) {
    Random random = new Random(1);
    String padding = "v".repeat(100);
    for (int i = 0; i < keys; i++) {
      store.put(key(2 * (int) (i * 2_654_435_761L % keys)), padding);
    }
    // The policies learn, and the caches fill.
    lookUp(store, random, keys, new Count());
    long missesBefore = statistics.getTickerCount(TickerType.BLOCK_CACHE_MISS);
    long begin = System.nanoTime();
    Count count = new Count();
    lookUp(store, random, keys, count);
    double seconds = (System.nanoTime() - begin) / 1e9;
    double lookups = count.lookups;
    if (count.found < lookups * 0.45 || count.found > lookups * 0.55) {
      throw new IllegalStateException(count.found + " of " + lookups + " found");
    }
    System.out.printf(
        "| %s | %.1f MiB | %.3f | %,.0f |%n",
        MODES.get(mode),
        memoryBytes / 1048576.0,
        (statistics.getTickerCount(TickerType.BLOCK_CACHE_MISS) - missesBefore) / lookups,
        lookups / seconds);
  }

  private static final class Count {
    long lookups;
    long found;
  }

  /** Low keys are asked for more often; every second one is absent. As many lookups as there are keys, or for half a minute. */
  private static void lookUp(KeyValueStore<String, String> store, Random random, int keys, Count count) {
    long deadline = System.nanoTime() + 30_000_000_000L;
    while (count.lookups < keys && System.nanoTime() < deadline) {
      double skewed = Math.pow(random.nextDouble(), 3);
      int key = 2 * (int) (skewed * keys) + random.nextInt(2);
      count.found += store.get(key(key)) == null ? 0 : 1;
      count.lookups++;
    }
  }

  private static String key(int number) {
    return String.format("customer-%09d", number);
  }

  private static void delete(Path folder) throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.walk(folder)) {
      files = all.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
    }
    for (Path file : files) {
      Files.deleteIfExists(file);
    }
  }
}
