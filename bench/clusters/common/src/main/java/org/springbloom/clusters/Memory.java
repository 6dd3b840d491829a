package org.springbloom.clusters;

/**
 * Memory of the processes that have the stores, together.
 *
 * @param blockCacheBytes in use of the block caches
 * @param readersBytes of indexes and filters that are in no cache
 * @param springbloomBytes in use of its budgets
 * @param memtablesBytes of entries that are in no table yet
 * @param residentBytes of the whole processes, with Java's heap
 */
public record Memory(long blockCacheBytes, long readersBytes, long springbloomBytes, long memtablesBytes, long residentBytes) {
  public static final Memory NONE = new Memory(0, 0, 0, 0, 0);

  public Memory and(Memory other) {
    return new Memory(
        blockCacheBytes + other.blockCacheBytes,
        readersBytes + other.readersBytes,
        springbloomBytes + other.springbloomBytes,
        memtablesBytes + other.memtablesBytes,
        residentBytes + other.residentBytes);
  }

  /** What lookups of tables use: this is what is held equal. */
  public long forReadsBytes() {
    return blockCacheBytes + readersBytes + springbloomBytes;
  }
}
