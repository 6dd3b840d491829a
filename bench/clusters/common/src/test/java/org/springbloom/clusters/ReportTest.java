package org.springbloom.clusters;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.type.TypeReference;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReportTest {
  private static Row row(Filters filters, long round, double seconds) {
    return new Row(filters, round, "left join", 100, seconds, 100, 5, 50, round, 0.25, 0, 0, 1024, new Memory(1 << 20, 0, 0, 0, 0));
  }

  private final Report report =
      new Report(
          "engine 1.0",
          new Machine("cpu", 2, 1 << 30, "6.1", "17", "abc"),
          Map.of("KEYS", 3),
          List.of("All is well."),
          List.of(new Report.Recovery(Filters.BLOOM, 2.5)),
          List.of(
              row(Filters.BLOOM, 1, 1), row(Filters.SPRINGBLOOM, 1, 2), row(Filters.BLOOM, 2, 10), row(Filters.SPRINGBLOOM, 2, 5),
              row(Filters.BLOOM, 3, 1), row(Filters.SPRINGBLOOM, 3, 1)));

  @Test
  void mediansAndSpread() {
    String text = report.text();
    assertTrue(text.contains("commit abc\n") && text.contains("KEYS=3") && text.contains("All is well.\n"), text);
    assertTrue(text.contains("until all was processed: bloom 2.5\n"), text);
    String springbloom = text.lines().filter(line -> line.startsWith("springbloom")).findFirst().orElseThrow();
    // The ratio is that of rounds, not of medians: 0.5, 2 and 1.
    assertEquals(
        "springbloom 2.000 (1.000-3.000) 0.250 0.000 0.000 1.00 5 50 50 (20-100) 1.00 (0.50-2.00)", springbloom.replaceAll(" +", " "));
  }

  @Test
  void theRecordHasAllRows() {
    Map<String, Object> record = Json.read(Json.writePretty(report), new TypeReference<>() {});
    List<?> rows = (List<?>) record.get("rows");
    assertEquals(6, rows.size());
    assertEquals(0.25, ((Map<?, ?>) rows.get(0)).get("wasted_reads_per_get"));
    assertEquals("abc", ((Map<?, ?>) record.get("machine")).get("commit"));
  }
}
