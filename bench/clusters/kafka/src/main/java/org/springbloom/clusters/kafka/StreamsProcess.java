package org.springbloom.clusters.kafka;

import com.fasterxml.jackson.core.type.TypeReference;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.rocksdb.RocksDB;
import org.springbloom.clusters.Checksum;
import org.springbloom.clusters.Child;
import org.springbloom.clusters.Commands;
import org.springbloom.clusters.Filters;
import org.springbloom.clusters.Json;
import org.springbloom.clusters.Memory;
import org.springbloom.clusters.ProcessUsage;
import org.springbloom.clusters.StoreMeter;
import org.springbloom.rocksdb.Springbloom;

/** An instance of Kafka Streams in a process of its own. */
final class StreamsProcess {
  private final KafkaStreams streams;
  private final Filters filters;
  private final long cacheBytes;

  /** What an instance is told. */
  record Arguments(String bootstrap, String folder, Filters filters, long cacheBytes, long budgetBytes, long writeBufferBytes) {}

  /** How far an instance is. */
  record Status(boolean isRunning, int tasks, long joined, long deduplicated) {}

  /** What an instance measured. */
  record Reading(Map<String, StoreMeter.Reading> stores, ProcessUsage usage, Memory memory) {}

  static Child start(String name, Arguments arguments) {
    return Child.start(name, Path.of(arguments.folder), "192m", StreamsProcess.class, arguments);
  }

  private StreamsProcess(Arguments arguments) {
    filters = arguments.filters;
    cacheBytes = arguments.cacheBytes;
    Properties properties = properties(arguments);
    streams = new KafkaStreams(ClusterTopology.build(new Topics(filters), properties), properties);
  }

  /** {@code main}, the process. */
  public static void main(String[] arguments) throws IOException {
    RocksDB.loadLibrary();
    StreamsProcess process = new StreamsProcess(Json.read(arguments[0], new TypeReference<Arguments>() {}));
    process.streams.start();
    Commands.serve(
        Map.of(
            "pause", process::pause,
            "resume", process::resume,
            "status", process::status,
            "read", process::read,
            "contents", process::contents,
            "stop", process::stop));
  }

  private static Properties properties(Arguments arguments) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, new Topics(arguments.filters).application());
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments.bootstrap);
    properties.put(StreamsConfig.STATE_DIR_CONFIG, Path.of(arguments.folder, "state").toString());
    properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    // Each lookup of the topology is one of RocksDB.
    properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    properties.put(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.OPTIMIZE);
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 500);
    // An instance that was killed is missed soon, and gets tasks at once when it is back.
    properties.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 6000);
    properties.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), 500);
    properties.put(StreamsConfig.ACCEPTABLE_RECOVERY_LAG_CONFIG, Long.MAX_VALUE);
    properties.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, StoreOptions.class);
    properties.put(StoreOptions.FILTERS, arguments.filters.name());
    properties.put(StoreOptions.CACHE_BYTES, String.valueOf(arguments.cacheBytes));
    properties.put(StoreOptions.WRITE_BUFFER_BYTES, String.valueOf(arguments.writeBufferBytes));
    properties.put("springbloom.budget", String.valueOf(arguments.budgetBytes));
    return properties;
  }

  private Object pause() {
    streams.pause();
    return null;
  }

  private Object resume() {
    streams.resume();
    return null;
  }

  private Status status() {
    int tasks = streams.metadataForLocalThreads().stream().mapToInt(thread -> thread.activeTasks().size()).sum();
    return new Status(
        streams.state() == KafkaStreams.State.RUNNING, tasks, Processed.JOINED.sum(), Processed.DEDUPLICATED.sum());
  }

  private Reading read() throws IOException {
    ProcessUsage usage = ProcessUsage.now();
    return new Reading(
        StoreMeter.readAll(),
        usage,
        new Memory(
            StoreOptions.cache(cacheBytes).getUsage(),
            sumOfStores("estimate-table-readers-mem"),
            filters == Filters.SPRINGBLOOM ? Springbloom.stats().usedBytes() : 0,
            sumOfStores("size-all-mem-tables"),
            usage.residentBytes()));
  }

  private long sumOfStores(String metric) {
    return streams.metrics().entrySet().stream()
        .filter(entry -> entry.getKey().name().equals(metric))
        .mapToLong(entry -> ((Number) entry.getValue().metricValue()).longValue())
        .sum();
  }

  /** Of all entries of this instance's part of the stores. */
  private Map<String, Checksum> contents() {
    Map<String, Checksum> contents = new TreeMap<>();
    for (String name : List.of(ClusterTopology.CUSTOMERS, ClusterTopology.SEEN)) {
      ReadOnlyKeyValueStore<String, String> store =
          streams.store(StoreQueryParameters.fromNameAndType(name, QueryableStoreTypes.<String, String>keyValueStore()));
      Checksum checksum = Checksum.EMPTY;
      try (KeyValueIterator<String, String> entries = store.all()) {
        while (entries.hasNext()) {
          var entry = entries.next();
          checksum = checksum.with(entry.key, entry.value);
        }
      }
      contents.put(name, checksum);
    }
    return contents;
  }

  private Object stop() {
    boolean isClosed =
        streams.close(
            CloseOptions.timeout(Duration.ofMinutes(1)).withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    if (!isClosed) {
      throw new IllegalStateException("Kafka Streams did not close within a minute");
    }
    return null;
  }
}
