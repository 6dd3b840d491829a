package org.springbloom.clusters;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;

/** Lookups of the stores with one name in this process: what they read, and how long they took. */
public final class StoreMeter {
  /** The counters of a {@link Reading}. */
  private static final TickerType[] TICKERS = {
    TickerType.BLOCK_CACHE_DATA_MISS,
    TickerType.BLOCK_CACHE_DATA_HIT,
    TickerType.BLOCK_CACHE_INDEX_MISS,
    TickerType.BLOCK_CACHE_FILTER_MISS,
    TickerType.BLOOM_FILTER_USEFUL,
    TickerType.BLOOM_FILTER_FULL_POSITIVE,
    TickerType.BLOOM_FILTER_FULL_TRUE_POSITIVE,
  };

  private static final Map<String, StoreMeter> METERS = new ConcurrentHashMap<>();

  private final Statistics statistics = new Statistics();
  private final ConcurrentHistogram latencies = new ConcurrentHistogram(3);

  private StoreMeter() {}

  /** That of a name. */
  public static StoreMeter of(String store) {
    return METERS.computeIfAbsent(store, name -> new StoreMeter());
  }

  /** For the options of the stores. */
  public Statistics statistics() {
    return statistics;
  }

  public void recordGet(long nanoseconds) {
    latencies.recordValue(nanoseconds);
  }

  /**
   * What the meter of a store shows, all since the process began.
   *
   * @param counters of RocksDB
   * @param latencies of lookups, as HdrHistogram encodes them
   */
  public record Reading(Map<String, Long> counters, String latencies) {
    /** In nanoseconds. */
    public Histogram histogram() {
      try {
        return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(Base64.getDecoder().decode(latencies)), 1);
      } catch (java.util.zip.DataFormatException error) {
        throw new IllegalArgumentException("damaged histogram", error);
      }
    }
  }

  /** Of all stores. */
  public static Map<String, Reading> readAll() {
    Map<String, Reading> readings = new TreeMap<>();
    METERS.forEach((name, meter) -> readings.put(name, meter.read()));
    return readings;
  }

  private Reading read() {
    Map<String, Long> counters =
        Arrays.stream(TICKERS)
            .collect(Collectors.toMap(ticker -> ticker.name().toLowerCase(java.util.Locale.ROOT), statistics::getTickerCount));
    Histogram histogram = latencies.copy();
    ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
    int size = histogram.encodeIntoCompressedByteBuffer(buffer);
    return new Reading(new TreeMap<>(counters), Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), size)));
  }
}
