package org.springbloom.clusters.kafka;

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

/** A small comparison with real processes. The comparison itself verifies all answers. */
class KafkaComparisonTest {
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
            Map.of("FILTERS", "partitioned springbloom", "KEYS", "10000", "ROUNDS", "1", "WRITE_BUFFER", "64KiB", "SPRINGBLOOM_SEED", "7"));
    Report report = KafkaComparison.run(environment, new Progress("test"));
    assertEquals(4, report.rows().size());
    for (Row row : report.rows()) {
      assertEquals(5_000, row.gets(), row.toString());
      assertTrue(row.dataReadsPerGet() > 0 && row.deviceBytesPerRecord() > 0, row.toString());
      assertTrue(row.wastedReadsPerGet() < 0.3, row.toString());
      assertEquals(row.filters() == Filters.SPRINGBLOOM, row.memory().springbloomBytes() > 0, row.toString());
      assertEquals(row.filters() == Filters.PARTITIONED, row.filterReadsPerGet() > 0, row.toString());
    }
    assertTrue(report.text().contains("deduplication:"), report.text());
    assertEquals(List.of(), ProcessHandle.current().children().filter(ProcessHandle::isAlive).toList());
    try (Stream<Path> files = Files.list(folder)) {
      assertEquals(List.of(), files.toList());
    }
  }

  @Test
  void wrongSettingsAreRefused() {
    assertEquals(2, run(Map.of("KEYS", "none")));
    assertEquals(2, run(Map.of("FILTERS", "bloom cuckoo")));
    assertEquals(2, run(Map.of("MEMORY", "1MiB", "BUDGET", "2MiB")));
    assertEquals(2, run(Map.of(), "--yaml"));
  }

  private int run(Map<String, String> settings, String... arguments) {
    return Program.run("test", List.of(arguments), environment(settings), KafkaComparison::run);
  }
}
