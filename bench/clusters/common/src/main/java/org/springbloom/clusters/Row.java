package org.springbloom.clusters;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * One measured phase of one round.
 *
 * @param deviceBytesPerRecord that all processes with stores had read from a device, compactions included
 */
public record Row(
    Filters filters,
    long round,
    String phase,
    long records,
    double seconds,
    long gets,
    double getMedianUs,
    double getP99Us,
    double dataReadsPerGet,
    double wastedReadsPerGet,
    double indexReadsPerGet,
    double filterReadsPerGet,
    double deviceBytesPerRecord,
    Memory memory) {

  /** Which phase of which round. */
  public record Phase(Filters filters, long round, String name, long records, double seconds) {}

  /**
   * From the meters of one store in all processes, before and after the phase.
   *
   * @param deviceBytes that were read meanwhile
   */
  public static Row of(
      Phase phase, Collection<StoreMeter.Reading> before, Collection<StoreMeter.Reading> after, long deviceBytes, Memory memory) {
    Histogram gets = new Histogram(3);
    after.forEach(reading -> gets.add(reading.histogram()));
    before.forEach(reading -> gets.subtract(reading.histogram()));
    double count = gets.getTotalCount();
    Counted counted = name -> sum(after, name) - sum(before, name);
    long wasted = counted.of("bloom_filter_full_positive") - counted.of("bloom_filter_full_true_positive");
    return new Row(
        phase.filters,
        phase.round,
        phase.name,
        phase.records,
        phase.seconds,
        gets.getTotalCount(),
        gets.getValueAtPercentile(50) / 1e3,
        gets.getValueAtPercentile(99) / 1e3,
        counted.of("block_cache_data_miss") / count,
        wasted / count,
        counted.of("block_cache_index_miss") / count,
        counted.of("block_cache_filter_miss") / count,
        deviceBytes / (double) phase.records,
        memory);
  }

  private interface Counted {
    long of(String name);
  }

  private static long sum(Collection<StoreMeter.Reading> readings, String name) {
    return readings.stream().mapToLong(reading -> reading.counters().get(name)).sum();
  }

  /** The readings of one store in several processes. */
  public static List<StoreMeter.Reading> ofStore(String store, List<Map<String, StoreMeter.Reading>> processes) {
    return processes.stream().filter(stores -> stores.containsKey(store)).map(stores -> stores.get(store)).toList();
  }

  public double recordsPerSecond() {
    return records / seconds;
  }
}
