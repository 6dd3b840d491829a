package org.springbloom.clusters.flink;

import com.fasterxml.jackson.core.type.TypeReference;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.springbloom.clusters.Child;
import org.springbloom.clusters.Commands;
import org.springbloom.clusters.Filters;
import org.springbloom.clusters.Json;
import org.springbloom.clusters.Memory;
import org.springbloom.clusters.ProcessUsage;
import org.springbloom.clusters.StoreMeter;
import org.springbloom.rocksdb.Springbloom;

/** A Flink mini cluster with the job, in a process of its own. */
final class FlinkProcess {
  private final Arguments arguments;
  private final JobClient job;
  private long limit;

  /**
   * What the process is told.
   *
   * @param managedBytes of Flink's managed memory; with {@link Filters#BLOOM}, of block caches, as there is no managed memory then
   * @param limit items that may pass at once
   * @param checkpoint to begin from, or empty
   */
  record Arguments(
      String folder,
      Filters filters,
      Sequence sequence,
      long managedBytes,
      long budgetBytes,
      long writeBufferBytes,
      long checkpointMs,
      long limit,
      String checkpoint) {}

  /** How far the job is. */
  record Status(int openStores, Totals totals) {}

  /** What the process measured. */
  record Reading(Map<String, StoreMeter.Reading> stores, ProcessUsage usage, Memory memory) {}

  static Child start(String name, Arguments arguments) {
    return Child.start(name, Path.of(arguments.folder), "384m", FlinkProcess.class, arguments);
  }

  private FlinkProcess(Arguments arguments) throws Exception {
    this.arguments = arguments;
    limit = arguments.limit;
    Gate.raise(limit);
    job = environment(arguments).executeAsync();
  }

  /** {@code main}, the process. */
  public static void main(String[] list) throws Exception {
    FlinkProcess process = new FlinkProcess(Json.read(list[0], new TypeReference<Arguments>() {}));
    Commands.serve(
        Map.of("next phase", process::nextPhase, "status", process::status, "read", process::read, "stop", process::stop));
  }

  private static StreamExecutionEnvironment environment(Arguments arguments) {
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(configuration(arguments));
    environment.setParallelism(FlinkComparison.SLOTS);
    Sequence sequence = arguments.sequence;
    TypeInformation<Item> type = TypeInformation.of(Item.class);
    GeneratorFunction<Long, Item> items =
        number -> {
          Gate.passes(number);
          return sequence.item(number);
        };
    RateLimiterStrategy<NumberSequenceSplit> gate = slots -> new Gate();
    // One after the other, so that the load is over before the first phase begins.
    DataStream<Item> source =
        environment
            .fromSource(new DataGeneratorSource<>(items, Long.MAX_VALUE, gate, type), WatermarkStrategy.noWatermarks(), "items")
            .uid("items")
            .setParallelism(1);
    DataStream<Item> joined =
        source.filter(item -> item.kind() != Item.Kind.EVENT).keyBy(Item::key).process(new LeftJoin()).uid("join").returns(type);
    DataStream<Item> deduplicated =
        source.filter(item -> item.kind() == Item.Kind.EVENT).keyBy(Item::key).process(new Deduplication()).uid("events").returns(type);
    joined.union(deduplicated).process(new Tally()).uid("tally").setParallelism(1).sinkTo(new DiscardingSink<>()).setParallelism(1);
    return environment;
  }

  private static Configuration configuration(Arguments arguments) {
    Path folder = Path.of(arguments.folder);
    boolean isManaged = arguments.filters != Filters.BLOOM;
    Map<String, String> settings = new HashMap<>();
    settings.put("rest.bind-address", "127.0.0.1");
    settings.put("rest.address", "127.0.0.1");
    settings.put("io.tmp.dirs", folder.resolve("tmp").toString());
    settings.put("state.backend.type", "rocksdb");
    settings.put("state.backend.rocksdb.localdir", folder.resolve("rocksdb").toString());
    settings.put("state.backend.rocksdb.options-factory", ClusterOptionsFactory.class.getName());
    settings.put("state.backend.rocksdb.writebuffer.size", arguments.writeBufferBytes + "b");
    settings.put("state.backend.rocksdb.memory.managed", String.valueOf(isManaged));
    settings.put("taskmanager.memory.managed.size", (isManaged ? arguments.managedBytes : 1 << 20) + "b");
    // Without managed memory, of each store.
    settings.put("state.backend.rocksdb.block.cache-size", arguments.managedBytes / (2 * FlinkComparison.SLOTS) + "b");
    for (String gauge : new String[] {"block-cache-usage", "estimate-table-readers-mem", "size-all-mem-tables"}) {
      settings.put("state.backend.rocksdb.metrics." + gauge, "true");
    }
    settings.put("metrics.reporter.gauges.factory.class", GaugeReporter.Factory.class.getName());
    settings.put("execution.checkpointing.interval", arguments.checkpointMs + "ms");
    settings.put("execution.checkpointing.incremental", "true");
    settings.put("execution.checkpointing.dir", folder.resolve("checkpoints").toUri().toString());
    settings.put("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    settings.put("restart-strategy.type", "none");
    if (!arguments.checkpoint.isEmpty()) {
      settings.put("execution.state-recovery.path", arguments.checkpoint);
    }
    settings.put(ClusterOptionsFactory.FILTERS, arguments.filters.name());
    settings.put("springbloom.budget", String.valueOf(arguments.budgetBytes));
    return Configuration.fromMap(settings);
  }

  private Object nextPhase() {
    limit += arguments.sequence.records();
    Gate.raise(limit);
    return null;
  }

  private Status status() {
    return new Status(OpenStores.count(), Tally.latest());
  }

  private Reading read() throws Exception {
    ProcessUsage usage = ProcessUsage.now();
    long cacheBytes = GaugeReporter.sumOf("block-cache-usage");
    return new Reading(
        StoreMeter.readAll(),
        usage,
        new Memory(
            // The two stores of a slot share a cache that is managed, and both show all of it.
            arguments.filters == Filters.BLOOM ? cacheBytes : cacheBytes / 2,
            GaugeReporter.sumOf("estimate-table-readers-mem"),
            arguments.filters == Filters.SPRINGBLOOM ? Springbloom.stats().usedBytes() : 0,
            GaugeReporter.sumOf("size-all-mem-tables"),
            usage.residentBytes()));
  }

  private Object stop() throws Exception {
    job.cancel().get();
    return null;
  }
}
