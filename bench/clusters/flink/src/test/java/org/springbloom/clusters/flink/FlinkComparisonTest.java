package org.springbloom.clusters.flink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springbloom.clusters.Environment;
import org.springbloom.clusters.Filters;
import org.springbloom.clusters.Program;
import org.springbloom.clusters.Progress;
import org.springbloom.clusters.Report;
import org.springbloom.clusters.Row;
import org.springbloom.clusters.Workload;

/** A small comparison with real processes. The comparison itself verifies all answers. */
class FlinkComparisonTest {
  @TempDir Path folder;

  private Environment environment(Map<String, String> more) {
    Map<String, String> variables = new HashMap<>(more);
    variables.put("TMPDIR", folder.toString());
    return new Environment(variables);
  }

  @Test
  void aSmallComparison() throws Exception {
    Environment environment =
        environment(
            Map.of(
                "FILTERS", "bloom springbloom", "KEYS", "5000", "ROUNDS", "1", "MEMORY", "512KiB", "WRITE_BUFFER", "64KiB",
                "SPRINGBLOOM_SEED", "7", "CHECKPOINT_MS", "500"));
    Report report = FlinkComparison.run(environment, new Progress("test"));
    assertEquals(4, report.rows().size());
    for (Row row : report.rows()) {
      // One item of the first phase may have passed after the restore.
      assertEquals(2_500, row.gets(), 1, row.toString());
      assertTrue(row.dataReadsPerGet() > 0 && row.deviceBytesPerRecord() > 0, row.toString());
      assertTrue(row.wastedReadsPerGet() < 0.3, row.toString());
      assertEquals(row.filters() == Filters.SPRINGBLOOM, row.memory().springbloomBytes() > 0, row.toString());
      assertTrue(row.memory().blockCacheBytes() > 0, row.toString());
    }
    assertEquals(List.of(), ProcessHandle.current().children().filter(ProcessHandle::isAlive).toList());
    try (Stream<Path> files = Files.list(folder)) {
      assertEquals(List.of(), files.toList());
    }
  }

  @Test
  void wrongSettingsAreRefused() {
    assertEquals(2, run(Map.of("CHECKPOINT_MS", "0")));
    assertEquals(2, run(Map.of("HOT", "cold")));
  }

  private int run(Map<String, String> settings) {
    return Program.run("test", List.of(), environment(settings), FlinkComparison::run);
  }

  /** What the checks rely on: the sequence is that of which the answers are expected. */
  @Test
  void aTallyOfADifferentAnswerDiffers() {
    Sequence sequence = new Sequence(new Workload(7, 100, Workload.Hot.SCATTERED), 50);
    Totals expected = Totals.expected(sequence, 400);
    assertEquals(100, expected.orders().entries());
    assertEquals(sequence.workload().ids(100).cardinality(), expected.ids().entries());
    Totals oneMore = expected.with(new Item(Item.Kind.ORDER, "key", "1:nobody"));
    assertTrue(!oneMore.orders().equals(expected.orders()) && oneMore.ids().equals(expected.ids()));
  }
}
