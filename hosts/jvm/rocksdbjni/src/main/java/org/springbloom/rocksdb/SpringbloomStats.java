package org.springbloom.rocksdb;

import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** A snapshot of the metrics. The documentation has a table of them. */
public final class SpringbloomStats {
  private final Map<String, Double> values;

  private SpringbloomStats(Map<String, Double> values) {
    this.values = values;
  }

  /** The lines of a text in the OpenMetrics format. */
  static SpringbloomStats parse(String text) {
    Map<String, Double> values = new TreeMap<>();
    // lines() would end a line at a carriage return, too, which names of column families may have.
    Arrays.stream(text.split("\n"))
        .filter(line -> !line.isEmpty() && !line.startsWith("#"))
        .forEach(
            line -> {
              int space = line.lastIndexOf(' ');
              values.put(line.substring(0, space), Double.parseDouble(line.substring(space + 1)));
            });
    return new SpringbloomStats(Collections.unmodifiableMap(values));
  }

  /** All values by their names, with label if there is one: {@code springbloom_used_bytes{kind="units"}}. */
  public Map<String, Double> values() {
    return values;
  }

  /** Budget in force. */
  public long budgetBytes() {
    return valueOf("springbloom_budget_bytes");
  }

  /** Bytes in use, of the budget. */
  public long usedBytes() {
    return sumOf("springbloom_used_bytes");
  }

  /** Most bytes ever in use. */
  public long peakBytes() {
    return valueOf("springbloom_peak_bytes");
  }

  /** Filter units in memory. */
  public long residentUnits() {
    return sumOf("springbloom_resident_units");
  }

  /** Known tables. */
  public long tables() {
    return valueOf("springbloom_tables");
  }

  /** Opened tables without room for their bookkeeping. */
  public long tablesRefused() {
    return valueOf("springbloom_tables_refused_total");
  }

  /** Lookups for which a table was not read, because its units rejected the key. */
  public long avoidedReads() {
    return visits("rejected");
  }

  /** Reads of data blocks that did not hold the key. */
  public long wastedReads() {
    return visits("wasted_read");
  }

  /** Reads that found the key. */
  public long truePositives() {
    return visits("true_positive");
  }

  private long visits(String outcome) {
    return valueOf("springbloom_visits_total{outcome=\"" + outcome + "\"}");
  }

  private long valueOf(String name) {
    return values.getOrDefault(name, 0.0).longValue();
  }

  private long sumOf(String name) {
    return (long)
        values.entrySet().stream()
            .filter(entry -> entry.getKey().equals(name) || entry.getKey().startsWith(name + "{"))
            .mapToDouble(Map.Entry::getValue)
            .sum();
  }

  @Override
  public String toString() {
    return values.toString();
  }
}
