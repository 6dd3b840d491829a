package org.springbloom.clusters;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToDoubleFunction;

/**
 * What a comparison found.
 *
 * @param engine with its release
 * @param settings by the names under which the user gives them
 * @param checks sentences about answers that were verified
 */
public record Report(
    String engine, Machine machine, Map<String, Object> settings, List<String> checks, List<Recovery> recoveries, List<Row> rows) {

  /** From the kill of a process until all that waited was processed. */
  public record Recovery(Filters filters, double seconds) {}

  /** Tables for people: medians over rounds, with the least and the greatest. */
  public String text() {
    StringBuilder text = new StringBuilder();
    text.append(engine).append("; ").append(machine).append("; commit ").append(machine.commit()).append('\n');
    settings.forEach((name, value) -> text.append(name).append('=').append(value).append(' '));
    text.append("\n");
    checks.forEach(check -> text.append(check).append('\n'));
    text.append("Seconds from the kill of a process until all was processed:");
    recoveries.forEach(recovery -> text.append(String.format(" %s %.1f", recovery.filters(), recovery.seconds())));
    text.append('\n');
    Set<String> phases = new LinkedHashSet<>();
    rows.forEach(row -> phases.add(row.phase()));
    for (String phase : phases) {
      text.append('\n').append(phase).append(":\n").append(table(phase));
    }
    text.append("\nmemory, MiB:\n").append(memory());
    return text.toString();
  }

  private String table(String phase) {
    TextTable table =
        new TextTable(
            "filters", "data reads/get", "wasted/get", "index reads/get", "filter reads/get", "device KiB/record", "get p50 us",
            "get p99 us", "records/s", "ratio");
    byFilters(phase)
        .forEach(
            (filters, ofFilters) ->
                table.add(
                    filters.toString(),
                    spread(ofFilters, Row::dataReadsPerGet, "%.3f"),
                    spread(ofFilters, Row::wastedReadsPerGet, "%.3f"),
                    spread(ofFilters, Row::indexReadsPerGet, "%.3f"),
                    spread(ofFilters, Row::filterReadsPerGet, "%.3f"),
                    spread(ofFilters, row -> row.deviceBytesPerRecord() / 1024, "%.2f"),
                    spread(ofFilters, Row::getMedianUs, "%.0f"),
                    spread(ofFilters, Row::getP99Us, "%.0f"),
                    spread(ofFilters, Row::recordsPerSecond, "%.0f"),
                    spread(ofFilters, row -> row.recordsPerSecond() / first(row).recordsPerSecond(), "%.2f")));
    return table.toString();
  }

  /** At the end of the last phase. */
  private String memory() {
    TextTable table = new TextTable("filters", "block cache", "readers", "springbloom", "for reads", "memtables", "resident");
    byFilters(rows.get(rows.size() - 1).phase())
        .forEach(
            (filters, ofFilters) ->
                table.add(
                    filters.toString(),
                    mebibytes(ofFilters, row -> row.memory().blockCacheBytes()),
                    mebibytes(ofFilters, row -> row.memory().readersBytes()),
                    mebibytes(ofFilters, row -> row.memory().springbloomBytes()),
                    mebibytes(ofFilters, row -> row.memory().forReadsBytes()),
                    mebibytes(ofFilters, row -> row.memory().memtablesBytes()),
                    mebibytes(ofFilters, row -> row.memory().residentBytes())));
    return table.toString();
  }

  private Map<Filters, List<Row>> byFilters(String phase) {
    Map<Filters, List<Row>> groups = new LinkedHashMap<>();
    rows.stream()
        .filter(row -> row.phase().equals(phase))
        .forEach(row -> groups.computeIfAbsent(row.filters(), filters -> new ArrayList<>()).add(row));
    return groups;
  }

  /** The first filters in the same phase of the same round. */
  private Row first(Row row) {
    return rows.stream().filter(other -> other.phase().equals(row.phase()) && other.round() == row.round()).findFirst().orElseThrow();
  }

  private static String spread(List<Row> rows, ToDoubleFunction<Row> value, String format) {
    return Spread.of(rows.stream().map(value::applyAsDouble).toList()).text(format);
  }

  private static String mebibytes(List<Row> rows, ToDoubleFunction<Row> bytes) {
    return String.format("%.2f", Spread.of(rows.stream().map(bytes::applyAsDouble).toList()).median() / (1 << 20));
  }
}
