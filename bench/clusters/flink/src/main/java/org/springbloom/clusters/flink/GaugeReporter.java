package org.springbloom.clusters.flink;

import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

/** Keeps the gauges of this process, for sums over all stores. */
public final class GaugeReporter implements MetricReporter {
  /** Flink refreshes the gauges of RocksDB every five seconds. */
  static final long REFRESHED_MS = 6_000;

  private static final Map<Metric, String> NAMES = new ConcurrentHashMap<>();

  /** Flink finds it by its name. */
  public static final class Factory implements MetricReporterFactory {
    @Override
    public MetricReporter createMetricReporter(Properties properties) {
      return new GaugeReporter();
    }
  }

  static long sumOf(String name) {
    return NAMES.entrySet().stream()
        .filter(entry -> entry.getValue().equals(name))
        .mapToLong(entry -> ((Number) ((Gauge<?>) entry.getKey()).getValue()).longValue())
        .sum();
  }

  @Override
  public void open(MetricConfig configuration) {}

  @Override
  public void close() {}

  @Override
  public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {
    if (metric instanceof Gauge) {
      NAMES.put(metric, name.substring(name.lastIndexOf('.') + 1));
    }
  }

  @Override
  public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) {
    NAMES.remove(metric);
  }
}
