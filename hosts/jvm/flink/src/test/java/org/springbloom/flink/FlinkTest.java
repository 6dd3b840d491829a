package org.springbloom.flink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.RocksDB;
import org.springbloom.rocksdb.Springbloom;
import org.springbloom.rocksdb.SpringbloomStats;

class FlinkTest {
  private static final long KEYS = 40_000;
  private static final int PASSES = 3;

  private static final AtomicBoolean CHECKPOINT_IS_COMPLETE = new AtomicBoolean();
  private static final AtomicBoolean HAS_FAILED = new AtomicBoolean();
  private static final AtomicLong LAST_SEEN = new AtomicLong();

  @TempDir Path folder;

  @BeforeEach
  void forget() {
    CHECKPOINT_IS_COMPLETE.set(false);
    HAS_FAILED.set(false);
    LAST_SEEN.set(0);
  }

  /** The lines of docs/guide-jvm.md, and others. */
  private Configuration configuration() {
    Configuration configuration = new Configuration();
    for (String line : documentedLines()) {
      String[] nameAndValue = line.split(": ", 2);
      configuration.setString(nameAndValue[0], nameAndValue[1]);
    }
    configuration.addAll(forTests());
    return configuration;
  }

  private static String[] documentedLines() {
    try {
      return Files.readString(Path.of("../../../docs/guide-jvm.md")).split("```yaml\n")[1].split("```")[0].split("\n");
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private Configuration forTests() {
    return Configuration.fromMap(
        Map.of(
            "state.backend.rocksdb.writebuffer.size", "64kb",
            "taskmanager.memory.managed.size", "64mb",
            "execution.checkpointing.interval", "50ms",
            "execution.checkpointing.incremental", "true",
            "execution.checkpointing.dir", folder.toUri().toString(),
            "restart-strategy.type", "fixed-delay",
            "restart-strategy.fixed-delay.delay", "10ms"));
  }

  /** Sees every key once in each pass, and fails once after a checkpoint: then the state must be that of the checkpoint. */
  private static final class Deduplicate extends KeyedProcessFunction<Long, Long, Long> implements CheckpointListener {
    private static final long serialVersionUID = 1;

    private transient ValueState<Long> seen;

    @Override
    public void open(OpenContext context) {
      seen = getRuntimeContext().getState(new ValueStateDescriptor<>("seen", Types.LONG));
    }

    @Override
    public void processElement(Long number, Context context, Collector<Long> out) throws Exception {
      long pass = number / KEYS;
      Long before = seen.value();
      if ((before == null ? 0 : before) != pass) {
        throw new IllegalStateException("key " + context.getCurrentKey() + " in pass " + pass + ": seen " + before + " times");
      }
      if (number > KEYS * PASSES / 2 && CHECKPOINT_IS_COMPLETE.get() && HAS_FAILED.compareAndSet(false, true)) {
        throw new RuntimeException("a failure that the test wants");
      }
      seen.update(pass + 1);
      LAST_SEEN.accumulateAndGet(number, Math::max);
      if (before == null) {
        out.collect(number);
      }
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) {
      CHECKPOINT_IS_COMPLETE.set(true);
    }
  }

  private static void run(Configuration configuration) throws Exception {
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    environment.setParallelism(2);
    environment
        .fromSequence(0, KEYS * PASSES - 1)
        // One after the other, so that a pass ends before the next one begins.
        .setParallelism(1)
        .keyBy(number -> number % KEYS)
        .process(new Deduplicate())
        .sinkTo(new DiscardingSink<>());
    environment.execute();
  }

  @Test
  void aDeduplicationIsFilteredAndRestored() throws Exception {
    run(configuration());
    assertTrue(HAS_FAILED.get(), "no checkpoint was complete before the end");
    assertEquals(KEYS * PASSES - 1, LAST_SEEN.get());
    SpringbloomStats stats = Springbloom.stats();
    assertTrue(stats.avoidedReads() > KEYS / 2 && stats.wastedReads() < stats.avoidedReads() / 10, stats.toString());
    assertEquals(64 << 20, stats.budgetBytes());
    assertTrue(stats.peakBytes() <= stats.budgetBytes(), stats.toString());
    assertEquals(0, stats.tables(), "tables of a job that ended");
  }

  @Test
  void aWrongPropertyFailsTheJobByName() {
    Configuration wrong = configuration();
    wrong.setString("springbloom.colour", "green");
    wrong.setString("restart-strategy.type", "none");
    Throwable error = assertThrows(Exception.class, () -> run(wrong));
    StringBuilder messages = new StringBuilder();
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      messages.append(cause.getMessage()).append('\n');
    }
    assertTrue(messages.toString().contains("springbloom.colour: unknown setting, expected one of budget"), messages.toString());
  }

  /** Flink sets its block cache on the configuration that the factory leaves, and gives it to the options again. */
  @Test
  void theConfigurationStaysOneOfTheBlockBasedFormat() throws Exception {
    RocksDB.loadLibrary();
    List<AutoCloseable> handles = new ArrayList<>();
    SpringbloomOptionsFactory factory = new SpringbloomOptionsFactory();
    factory.configure(configuration());
    try (ColumnFamilyOptions options = new ColumnFamilyOptions()) {
      options.setTableFormatConfig(new BlockBasedTableConfig().setBlockSize(12345));
      BlockBasedTableConfig made =
          assertInstanceOf(
              BlockBasedTableConfig.class, factory.createColumnOptions(options, handles).tableFormatConfig());
      assertEquals(12345, made.blockSize());
      options.setTableFormatConfig(made.setCacheIndexAndFilterBlocks(true));
      assertEquals(64 << 20, Springbloom.budgetBytes());
    }
    assertTrue(handles.isEmpty());
  }
}
