package org.springbloom.clusters.flink;

import com.fasterxml.jackson.core.type.TypeReference;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.springbloom.clusters.Child;
import org.springbloom.clusters.Filters;
import org.springbloom.clusters.Patience;
import org.springbloom.clusters.Row;
import org.springbloom.clusters.Settings;
import org.springbloom.clusters.Trial;

/** One kind of filters: the job with them, and what it must answer. */
final class FlinkSubject implements Trial.Subject {
  /** Of the block caches: what large filters leave of the memory. */
  private static final long LEAST_CACHE_BYTES = 256 << 10;

  private final Filters filters;
  private final Settings settings;
  private final long checkpointMs;
  private final Path folder;
  private final Sequence sequence;
  private Child process;
  private long managedBytes;
  private long limit;

  FlinkSubject(Filters filters, Settings settings, long checkpointMs, Path folder) throws IOException {
    this.filters = filters;
    this.settings = settings;
    this.folder = Files.createDirectories(folder.resolve(filters.toString()));
    this.checkpointMs = checkpointMs;
    sequence = new Sequence(settings.workload(), settings.records());
    managedBytes = settings.memoryBytes() - budgetBytes();
    limit = sequence.loadItems();
  }

  private long budgetBytes() {
    return filters == Filters.SPRINGBLOOM ? settings.budgetBytes() : 0;
  }

  @Override
  public Filters filters() {
    return filters;
  }

  private void start(String checkpoint) {
    process =
        FlinkProcess.start(
            filters.toString(),
            new FlinkProcess.Arguments(
                folder.toString(),
                filters,
                sequence,
                managedBytes,
                budgetBytes(),
                settings.writeBufferBytes(),
                checkpointMs,
                limit,
                checkpoint));
  }

  @Override
  public void load() throws Exception {
    start("");
    awaitItems(limit);
    verify();
  }

  /** Another process goes on from the last checkpoint. */
  @Override
  public double loseAProcess() throws Exception {
    Path last = awaitCheckpointAfter(newestCheckpoint());
    for (int phase = 0; phase < 2; phase++) {
      nextPhase();
    }
    awaitItems(limit - settings.records());
    // Of a moment after this, so that there is state in it and items are in flight.
    awaitCheckpointAfter(Optional.of(last));
    return restart();
  }

  private double restart() throws Exception {
    process.kill();
    long begin = System.nanoTime();
    start(newestCheckpoint().orElseThrow(() -> new IllegalStateException("no checkpoint was complete")).toUri().toString());
    awaitItems(limit);
    double seconds = (System.nanoTime() - begin) / 1e9;
    verify();
    return seconds;
  }

  @Override
  public void prepare() throws Exception {
    if (filters == Filters.BLOOM) {
      managedBytes = Math.max(settings.memoryBytes() - read().memory().readersBytes(), LEAST_CACHE_BYTES);
      restart();
    }
    measure(0);
  }

  @Override
  public List<Row> measure(int round) throws Exception {
    List<Row> rows = List.of(phase(round, "left join"), phase(round, "deduplication"));
    verify();
    return rows;
  }

  private Row phase(int round, String name) throws Exception {
    FlinkProcess.Reading before = read();
    long begin = System.nanoTime();
    nextPhase();
    awaitItems(limit);
    double seconds = (System.nanoTime() - begin) / 1e9;
    Thread.sleep(GaugeReporter.REFRESHED_MS);
    FlinkProcess.Reading after = read();
    return Row.of(
        new Row.Phase(filters, round, name, settings.records(), seconds),
        before.stores().values(),
        after.stores().values(),
        after.usage().readBytes() - before.usage().readBytes(),
        after.memory());
  }

  private void nextPhase() {
    process.send("next phase");
    limit += settings.records();
  }

  private FlinkProcess.Reading read() {
    return process.ask("read", new TypeReference<FlinkProcess.Reading>() {});
  }

  private FlinkProcess.Status status() {
    return process.ask("status", new TypeReference<FlinkProcess.Status>() {});
  }

  private void awaitItems(long items) throws Exception {
    Patience.await(
        "the items are processed",
        () -> {
          FlinkProcess.Status status = status();
          return status.openStores() == OpenStores.ALL && status.totals().items() >= items;
        });
  }

  /** The items that came out are the first ones of the sequence, and have their answers. */
  private void verify() throws Exception {
    Totals[] totals = {Totals.NONE};
    // After a restore, one item of the next phase may be on its way.
    Patience.await(
        "the job is idle",
        () -> {
          Totals before = totals[0];
          totals[0] = status().totals();
          return totals[0].equals(before);
        });
    Totals expected = Totals.expected(sequence, totals[0].items());
    if (!totals[0].equals(expected)) {
      throw new IllegalStateException("wrong answers with the filters " + filters + ": expected " + expected + ", found " + totals[0]);
    }
  }

  private Path awaitCheckpointAfter(Optional<Path> known) throws Exception {
    Patience.await("a checkpoint is complete", () -> newestCheckpoint().isPresent() && !newestCheckpoint().equals(known));
    return newestCheckpoint().orElseThrow();
  }

  /** Complete ones have the file. Flink removes old ones meanwhile. */
  private Optional<Path> newestCheckpoint() {
    return files(folder.resolve("checkpoints").toFile())
        .flatMap(FlinkSubject::files)
        .filter(checkpoint -> new File(checkpoint, "_metadata").exists())
        .max(Comparator.comparing(File::lastModified))
        .map(File::toPath);
  }

  private static Stream<File> files(File folder) {
    File[] files = folder.listFiles();
    return files == null ? Stream.empty() : Stream.of(files);
  }

  @Override
  public void finish() throws Exception {
    verify();
    process.close();
  }
}
