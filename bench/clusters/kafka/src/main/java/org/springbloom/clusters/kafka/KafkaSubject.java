package org.springbloom.clusters.kafka;

import java.nio.file.Path;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.ToLongFunction;
import org.springbloom.clusters.Filters;
import org.springbloom.clusters.Row;
import org.springbloom.clusters.Settings;
import org.springbloom.clusters.StoreMeter;
import org.springbloom.clusters.Trial;
import org.springbloom.clusters.Workload;

/** One kind of filters: its application, what it is given, and what it must answer. */
final class KafkaSubject implements Trial.Subject {
  /** Of the block cache: what a large filter leaves of the memory. */
  private static final long LEAST_CACHE_BYTES = 64 << 10;

  private final Filters filters;
  private final Settings settings;
  private final Application application;
  private final Inputs inputs;
  private final Outputs outputs;
  private final long budgetBytes;
  private long cacheBytes;

  KafkaSubject(Client client, String bootstrap, Path folder, Filters filters, Settings settings) throws Exception {
    this.filters = filters;
    this.settings = settings;
    Topics topics = new Topics(filters);
    client.createTopics(topics.inputs());
    client.createTopics(topics.outputs());
    Workload workload = settings.workload();
    application = new Application(client, bootstrap, topics, folder, settings);
    inputs = new Inputs(client.producer(), topics, workload);
    outputs = new Outputs(client, topics, workload);
    budgetBytes = filters == Filters.SPRINGBLOOM ? settings.budgetBytes() : 0;
    cacheBytes = settings.memoryBytes() - budgetBytes;
  }

  @Override
  public Filters filters() {
    return filters;
  }

  @Override
  public void load() throws Exception {
    application.start(cacheBytes, budgetBytes);
    inputs.load();
    application.awaitCommitted();
    verify();
  }

  @Override
  public void prepare() throws Exception {
    if (filters == Filters.BLOOM) {
      long readersBytes =
          application.read().stream().mapToLong(reading -> reading.memory().readersBytes()).max().orElseThrow();
      cacheBytes = Math.max(cacheBytes - readersBytes, LEAST_CACHE_BYTES);
      application.stop();
      application.start(cacheBytes, budgetBytes);
    }
    measure(0);
  }

  private void verify() {
    outputs.verify(inputs.orders(), inputs.events());
  }

  @Override
  public double loseAProcess() throws Exception {
    application.pause();
    inputs.moreOrders(settings.records());
    inputs.moreEvents(settings.records());
    application.resume();
    long before = application.processed(StreamsProcess.Status::joined);
    application.awaitProcessed(StreamsProcess.Status::joined, before + settings.records() / 3);
    application.killOne();
    long begin = System.nanoTime();
    application.restartOne(cacheBytes, budgetBytes);
    application.awaitCommitted();
    double seconds = (System.nanoTime() - begin) / 1e9;
    verify();
    application.awaitTasks();
    verifyStores();
    return seconds;
  }

  /** What the instances hold, read with iterators. */
  private void verifyStores() {
    outputs.expect("customers in the stores", outputs.expectedCustomers(), application.contents(ClusterTopology.CUSTOMERS));
    outputs.expect("ids in the stores", outputs.expectedSeen(inputs.events()), application.contents(ClusterTopology.SEEN));
  }

  @Override
  public List<Row> measure(int round) throws Exception {
    Row join = phase(round, "left join", ClusterTopology.CUSTOMERS, StreamsProcess.Status::joined, inputs::moreOrders);
    Row seen = phase(round, "deduplication", ClusterTopology.SEEN, StreamsProcess.Status::deduplicated, inputs::moreEvents);
    verify();
    return List.of(join, seen);
  }

  /** The records are there before the instances go on. */
  private Row phase(
      int round, String name, String store, ToLongFunction<StreamsProcess.Status> counter, LongConsumer input) throws Exception {
    application.pause();
    input.accept(settings.records());
    long goal = application.processed(counter) + settings.records();
    List<StreamsProcess.Reading> before = application.read();
    long begin = System.nanoTime();
    application.resume();
    application.awaitProcessed(counter, goal);
    double seconds = (System.nanoTime() - begin) / 1e9;
    List<StreamsProcess.Reading> after = application.read();
    application.awaitCommitted();
    return Row.of(
        new Row.Phase(filters, round, name, settings.records(), seconds),
        ofStore(store, before),
        ofStore(store, after),
        deviceBytes(after) - deviceBytes(before),
        Application.memory(after));
  }

  private static List<StoreMeter.Reading> ofStore(String store, List<StreamsProcess.Reading> readings) {
    return Row.ofStore(store, readings.stream().map(StreamsProcess.Reading::stores).toList());
  }

  private static long deviceBytes(List<StreamsProcess.Reading> readings) {
    return readings.stream().mapToLong(reading -> reading.usage().readBytes()).sum();
  }

  @Override
  public void finish() {
    verifyStores();
    application.stop();
    outputs.close();
  }
}
