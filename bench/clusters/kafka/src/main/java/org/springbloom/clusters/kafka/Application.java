package org.springbloom.clusters.kafka;

import com.fasterxml.jackson.core.type.TypeReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.springbloom.clusters.Checksum;
import org.springbloom.clusters.Child;
import org.springbloom.clusters.Memory;
import org.springbloom.clusters.Patience;
import org.springbloom.clusters.Settings;

/** The instances of one application, which have the same filters. */
final class Application {
  private final Client client;
  private final Topics topics;
  private final Path folder;
  private final String bootstrap;
  private final Settings settings;
  private final List<Child> instances = new ArrayList<>();

  Application(Client client, String bootstrap, Topics topics, Path folder, Settings settings) {
    this.settings = settings;
    this.client = client;
    this.bootstrap = bootstrap;
    this.topics = topics;
    this.folder = folder;
  }

  /** Starts all instances, and waits until they have taken all tasks. */
  void start(long cacheBytes, long budgetBytes) throws Exception {
    for (int number = 0; number < KafkaComparison.INSTANCES; number++) {
      instances.add(startOne(number, cacheBytes, budgetBytes));
    }
    awaitTasks();
  }

  private Child startOne(int number, long cacheBytes, long budgetBytes) throws Exception {
    String name = topics.filters() + "-" + number;
    Path own = Files.createDirectories(folder.resolve(name));
    return StreamsProcess.start(
        name,
        new StreamsProcess.Arguments(bootstrap, own.toString(), topics.filters(), cacheBytes, budgetBytes, settings.writeBufferBytes()));
  }

  /** Waits until the instances have all tasks: of the join and of the deduplication, one for each partition. */
  void awaitTasks() throws Exception {
    Patience.await(
        "the instances have all tasks",
        () -> {
          List<StreamsProcess.Status> all = status();
          int tasks = all.stream().mapToInt(StreamsProcess.Status::tasks).sum();
          return all.stream().allMatch(StreamsProcess.Status::isRunning) && tasks == 2 * Client.PARTITIONS;
        });
  }

  /** Kills the last instance with SIGKILL. */
  void killOne() {
    instances.remove(instances.size() - 1).kill();
  }

  /** Starts it again. */
  void restartOne(long cacheBytes, long budgetBytes) throws Exception {
    instances.add(startOne(instances.size(), cacheBytes, budgetBytes));
  }

  void stop() {
    instances.forEach(Child::close);
    instances.clear();
  }

  void pause() {
    instances.forEach(instance -> instance.send("pause"));
  }

  void resume() {
    instances.forEach(instance -> instance.send("resume"));
  }

  private List<StreamsProcess.Status> status() {
    return instances.stream().map(instance -> instance.ask("status", new TypeReference<StreamsProcess.Status>() {})).toList();
  }

  /** Records that the instances of this moment have processed. */
  long processed(ToLongFunction<StreamsProcess.Status> counter) {
    return status().stream().mapToLong(counter).sum();
  }

  List<StreamsProcess.Reading> read() {
    return instances.stream().map(instance -> instance.ask("read", new TypeReference<StreamsProcess.Reading>() {})).toList();
  }

  static Memory memory(List<StreamsProcess.Reading> readings) {
    return readings.stream().map(StreamsProcess.Reading::memory).reduce(Memory.NONE, Memory::and);
  }

  /** Waits until {@link #processed} is so many. */
  void awaitProcessed(ToLongFunction<StreamsProcess.Status> counter, long count) throws Exception {
    Patience.await("the records are processed", () -> processed(counter) >= count);
  }

  /** Waits until all records are processed, and their transactions committed. */
  void awaitCommitted() throws Exception {
    Patience.await("the records are committed", () -> client.lag(topics.application(), topics.inputs()) == 0);
  }

  /** Of a store, over all instances. */
  Checksum contents(String store) {
    return instances.stream()
        .map(instance -> instance.ask("contents", new TypeReference<Map<String, Checksum>>() {}).get(store))
        .reduce(Checksum.EMPTY, Checksum::and);
  }
}
