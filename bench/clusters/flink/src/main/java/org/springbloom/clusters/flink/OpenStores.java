package org.springbloom.clusters.flink;

import java.util.concurrent.atomic.AtomicInteger;

/** Stores of this process that are open. What came out of a job is restored before they are. */
final class OpenStores {
  /** The join and the deduplication, in each slot. */
  static final int ALL = 2 * FlinkComparison.SLOTS;

  private static final AtomicInteger COUNT = new AtomicInteger();

  private OpenStores() {}

  static void add() {
    COUNT.incrementAndGet();
  }

  static int count() {
    return COUNT.get();
  }
}
