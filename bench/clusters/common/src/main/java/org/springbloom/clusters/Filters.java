package org.springbloom.clusters;

/** What is compared. All Bloom filters have 10 bits per key, on all levels. */
public enum Filters {
  /** Filters and indexes of all tables are in memory, whatever it takes; the block cache gets what they leave. */
  BLOOM,
  /** Filters and indexes are blocks in the bounded cache, one of each for a table. */
  CACHED,
  /** The same, in pieces of 4 KiB. */
  PARTITIONED,
  /** Elastic filters with a budget; indexes in pieces of 4 KiB are in the bounded cache. */
  SPRINGBLOOM;

  @Override
  public String toString() {
    return Environment.nameOf(this);
  }
}
