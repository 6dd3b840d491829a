package org.springbloom.rocksdb;

import org.rocksdb.RocksDBException;

/** The native methods, in {@code hosts/jvm/native}. Call {@link NativeLibrary#load} before. Texts are UTF-8. */
final class Native {
  private Native() {}

  /** Takes a stock table factory, which is gone in any case, and gives one with filter units. */
  static native long wrap(long stockFactory, byte[][] namesAndValues);

  /** Null while no table format uses Springbloom. */
  static native byte[] metrics();

  /** -1 while no table format uses Springbloom. */
  static native long budgetBytes();

  static native void setBudgetBytes(long budgetBytes);

  static native boolean waitIdle(long timeoutMillis);

  /** Below 0 while nothing was looked up. */
  static native double wastedReadsPerLookup(long budgetBytes);

  /** 1 if the family is active, its tables with units, its tables without, the restart interval of new indexes. */
  static native long[] status(long database, long family) throws RocksDBException;
}
