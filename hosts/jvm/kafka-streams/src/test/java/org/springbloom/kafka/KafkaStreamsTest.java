package org.springbloom.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Options;
import org.springbloom.rocksdb.Springbloom;
import org.springbloom.rocksdb.SpringbloomStats;

class KafkaStreamsTest {
  private static final int KEYS = 20_000;

  @TempDir Path folder;

  /** Small write buffers, so that the stores have tables. */
  public static class SmallBuffers extends SpringbloomRocksDBConfigSetter {
    @Override
    public void setConfig(String storeName, Options options, Map<String, Object> configs) {
      options.setWriteBufferSize(64 << 10);
      ((BlockBasedTableConfig) options.tableFormatConfig()).setBlockSize(2048);
      super.setConfig(storeName, options, configs);
    }
  }

  private Properties properties(Class<?> setter) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, folder.toString());
    properties.put(StreamsConfig.METRICS_RECORDING_LEVEL_CONFIG, "DEBUG");
    properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, setter);
    properties.put("springbloom.budget", "8MiB");
    return properties;
  }

  /** A table, a stream that is joined with it though most of its keys are absent, and a count. */
  private static Topology topology() {
    StreamsBuilder builder = new StreamsBuilder();
    var table = builder.table("table", Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as("table-store"));
    var stream = builder.stream("stream", Consumed.with(Serdes.String(), Serdes.String()));
    stream.leftJoin(table, (left, right) -> left + ":" + right).to("joined");
    stream
        .groupByKey()
        .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts"))
        .toStream()
        .to("counted", Produced.with(Serdes.String(), Serdes.Long()));
    return builder.build();
  }

  @Test
  void aLeftJoinIsFilteredUnderOneBudget() throws Exception {
    try (TopologyTestDriver driver = new TopologyTestDriver(topology(), properties(SmallBuffers.class))) {
      TestInputTopic<String, String> table = driver.createInputTopic("table", new StringSerializer(), new StringSerializer());
      TestInputTopic<String, String> stream = driver.createInputTopic("stream", new StringSerializer(), new StringSerializer());
      for (int i = 0; i < KEYS; i++) {
        table.pipeInput("key" + 2 * i, "value" + i);
      }
      SpringbloomStats before = Springbloom.stats();
      assertTrue(before.tables() > 1, before.toString());
      for (int i = 0; i < 2 * KEYS; i++) {
        stream.pipeInput("key" + i, "left");
      }
      SpringbloomStats after = Springbloom.stats();
      var joined = driver.createOutputTopic("joined", new StringDeserializer(), new StringDeserializer());
      List<KeyValue<String, String>> results = joined.readKeyValuesToList();
      assertEquals(2 * KEYS, results.size());
      for (int i = 0; i < 2 * KEYS; i++) {
        assertEquals("left:" + (i % 2 == 0 ? "value" + i / 2 : null), results.get(i).value, "key " + i);
      }
      long avoided = after.avoidedReads() - before.avoidedReads();
      long wasted = after.wastedReads() - before.wastedReads();
      // Half of the keys of the join are absent, and all of the count, when they come; some are still in the write buffer's range.
      assertTrue(avoided > KEYS && wasted < avoided / 10, avoided + " avoided, " + wasted + " wasted: " + after);
      assertEquals(8 << 20, after.budgetBytes());
      assertTrue(after.peakBytes() <= after.budgetBytes(), after.toString());
      KeyValueStore<String, Long> counts = driver.getKeyValueStore("counts");
      for (int i = 0; i < 2 * KEYS; i += 7) {
        assertEquals(1, counts.get("key" + i));
        assertNull(counts.get("other" + i));
      }
      assertMetricsOfTheBlockCache(driver);
      assertOptions();
    }
    assertEquals(0, Springbloom.stats().tables());
  }

  /** Kafka Streams takes them from its own class of configuration. */
  private static void assertMetricsOfTheBlockCache(TopologyTestDriver driver) {
    List<Object> capacities =
        driver.metrics().entrySet().stream()
            .filter(metric -> metric.getKey().name().equals("block-cache-capacity"))
            .map(metric -> metric.getValue().metricValue())
            .collect(Collectors.toList());
    assertEquals(2, capacities.size());
    // What Kafka Streams gives a store by default.
    capacities.forEach(capacity -> assertEquals("52428800", String.valueOf(capacity)));
  }

  /** Of the column family with the data; another one has the offsets. */
  private void assertOptions() throws Exception {
    try (Stream<Path> files = Files.walk(folder)) {
      List<Path> options =
          files.filter(file -> file.getFileName().toString().matches("OPTIONS-\\d+")).collect(Collectors.toList());
      assertTrue(options.size() >= 2, options.toString());
      for (Path file : options) {
        String text = Files.readString(file);
        assertTrue(text.contains("optimize_filters_for_hits=false"), text);
        assertTrue(text.contains("block_size=2048"), text);
      }
    }
  }

  /** The lines of docs/guide-jvm.md. */
  @Test
  void theDocumentedPropertiesWork() throws Exception {
    String page = Files.readString(Path.of("../../../docs/guide-jvm.md"));
    Properties documented = new Properties();
    documented.load(new StringReader(page.split("```properties\n")[1].split("```")[0]));
    Properties properties = properties(SmallBuffers.class);
    properties.putAll(documented);
    try (TopologyTestDriver driver = new TopologyTestDriver(topology(), properties)) {
      TestInputTopic<String, String> table = driver.createInputTopic("table", new StringSerializer(), new StringSerializer());
      table.pipeInput("key", "value");
      assertEquals("value", driver.<String, String>getKeyValueStore("table-store").get("key"));
      assertEquals(64 << 20, Springbloom.budgetBytes());
    }
  }

  @Test
  void storesAreOpenedAgain() {
    for (int run = 0; run < 3; run++) {
      try (TopologyTestDriver driver = new TopologyTestDriver(topology(), properties(SmallBuffers.class))) {
        TestInputTopic<String, String> table =
            driver.createInputTopic("table", new StringSerializer(), new StringSerializer());
        for (int i = 0; i < 2000; i++) {
          table.pipeInput("key" + i, "run" + run);
        }
        KeyValueStore<String, String> store = driver.getKeyValueStore("table-store");
        for (int i = 0; i < 2000; i++) {
          assertEquals("run" + run, store.get("key" + i));
          assertNull(store.get("other" + i));
        }
      }
      assertEquals(0, Springbloom.stats().tables());
    }
  }

  @Test
  void aWrongPropertyIsNamedAndNoStoreIsTouched() throws Exception {
    Properties wrong = properties(SpringbloomRocksDBConfigSetter.class);
    wrong.put("springbloom.budget", "plenty");
    Throwable error = assertThrows(RuntimeException.class, () -> new TopologyTestDriver(topology(), wrong).close());
    while (!(error instanceof IllegalArgumentException) && error.getCause() != null) {
      error = error.getCause();
    }
    assertNotNull(error.getMessage());
    assertTrue(error.getMessage().contains("springbloom.budget: got plenty, expected bytes"), error.toString());
    try (Stream<Path> files = Files.walk(folder)) {
      assertTrue(files.noneMatch(file -> file.endsWith("CURRENT")));
    }
  }
}
