package org.springbloom.clusters;

/** Of the entries of a store in any order: how many, and a sum of their hashes. */
public record Checksum(long entries, long sum) {
  public static final Checksum EMPTY = new Checksum(0, 0);

  public Checksum with(String key, String value) {
    long hash = 31L * key.hashCode() + value.hashCode();
    return new Checksum(entries + 1, sum + hash * 0x9E3779B97F4A7C15L);
  }

  /** Of two parts of a store. */
  public Checksum and(Checksum other) {
    return new Checksum(entries + other.entries, sum + other.sum);
  }
}
