package org.springbloom.rocksdb;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalDouble;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** The elastic filters of this process: one instance, created when options first take a {@link SpringbloomTableConfig}. */
public final class Springbloom {
  /** The Content-Type with which a program serves {@link #metricsText}. */
  public static final String METRICS_CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8";

  private Springbloom() {}

  /** A snapshot; empty while no options use Springbloom. */
  public static SpringbloomStats stats() {
    return SpringbloomStats.parse(metricsText());
  }

  /** The metrics as OpenMetrics text ({@link #METRICS_CONTENT_TYPE}); a text without metrics while no options use Springbloom. */
  public static String metricsText() {
    NativeLibrary.load();
    byte[] text = Native.metrics();
    return text == null ? "# EOF\n" : new String(text, StandardCharsets.UTF_8);
  }

  /** The budget in force; 0 while no options use Springbloom. */
  public static long budgetBytes() {
    NativeLibrary.load();
    return Math.max(Native.budgetBytes(), 0);
  }

  /** Changes the budget of all stores of the process. A smaller one holds when this returns. */
  public static void setBudgetBytes(long budgetBytes) {
    NativeLibrary.load();
    Native.setBudgetBytes(budgetBytes);
  }

  /** Waits until no filter unit is waiting to be loaded; false on a timeout. For tests and benchmarks. */
  public static boolean waitIdle(Duration timeout) {
    Objects.requireNonNull(timeout, "springbloom: the timeout is null");
    NativeLibrary.load();
    // In nanoseconds it is a long, too.
    Duration longest = Duration.ofNanos(Long.MAX_VALUE);
    return Native.waitIdle((timeout.compareTo(longest) < 0 ? timeout : longest).toMillis());
  }

  /** Reads of data blocks without the key that a lookup makes on average with a budget, from what was measured; empty before lookups. */
  public static OptionalDouble wastedReadsPerLookup(long budgetBytes) {
    NativeLibrary.load();
    double wasted = Native.wastedReadsPerLookup(budgetBytes);
    return wasted < 0 ? OptionalDouble.empty() : OptionalDouble.of(wasted);
  }

  /** Whether a column family uses elastic filters, and how many of its tables have them. Reads the tables' properties. */
  public static FamilyStatus status(RocksDB database, ColumnFamilyHandle family) throws RocksDBException {
    Objects.requireNonNull(database, "springbloom: the database is null");
    Objects.requireNonNull(family, "springbloom: the handle of the column family is null");
    NativeLibrary.load();
    if (!database.isOwningHandle()) {
      throw new IllegalStateException("springbloom: the database is closed");
    }
    // The handle of the default family is the database's, and owns nothing.
    if (!family.isOwningHandle() && family.getNativeHandle() != database.getDefaultColumnFamily().getNativeHandle()) {
      throw new IllegalStateException("springbloom: the handle of the column family is closed");
    }
    return new FamilyStatus(Native.status(database.getNativeHandle(), family.getNativeHandle()));
  }
}
