package org.springbloom.clusters;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the user may set.
 *
 * @param keys customers, and ids of events that are loaded
 * @param records of each measured phase
 * @param memoryBytes of a process for its stores
 * @param budgetBytes of it for Springbloom
 */
public record Settings(
    List<Filters> filters,
    int keys,
    int records,
    long memoryBytes,
    long budgetBytes,
    long writeBufferBytes,
    int rounds,
    Workload.Hot hot,
    long seed) {

  /**
   * What depends on the engine.
   *
   * @param processes with stores
   * @param memoryBitsPerKey of all processes together, for each key of both stores
   */
  public record Defaults(int processes, int memoryBitsPerKey, String writeBuffer) {}

  /** Five bits of the memory for each key are Springbloom's. */
  public static Settings of(Environment environment, Defaults defaults) {
    int keys = (int) environment.number("KEYS", 200_000, 1_000, 100_000_000);
    long memoryBytes = environment.bytes("MEMORY", bytes(keys, defaults.memoryBitsPerKey, defaults), 1 << 10, 1L << 40);
    return new Settings(
        environment.some("FILTERS", Filters.values()),
        keys,
        (int) environment.number("RECORDS", keys / 2, 100, 100_000_000),
        memoryBytes,
        environment.bytes("BUDGET", bytes(keys, 5, defaults), 1, memoryBytes - 1),
        environment.bytes("WRITE_BUFFER", defaults.writeBuffer, 64 << 10, 1 << 30),
        (int) environment.number("ROUNDS", 3, 1, 1_000),
        environment.one("HOT", Workload.Hot.SCATTERED, Workload.Hot.values()),
        environment.number("SPRINGBLOOM_SEED", System.nanoTime() & 0xFFFF_FFFFL, 0, Long.MAX_VALUE));
  }

  private static String bytes(int keys, int bitsPerKey, Defaults defaults) {
    return String.valueOf(2L * keys * bitsPerKey / 8 / defaults.processes);
  }

  public Workload workload() {
    return new Workload(seed, keys, hot);
  }

  /** By the names under which the user gives them. */
  public Map<String, Object> byName() {
    Map<String, Object> named = new LinkedHashMap<>();
    named.put("FILTERS", String.join(" ", filters.stream().map(Filters::toString).toList()));
    named.put("KEYS", keys);
    named.put("RECORDS", records);
    named.put("MEMORY", memoryBytes);
    named.put("BUDGET", budgetBytes);
    named.put("WRITE_BUFFER", writeBufferBytes);
    named.put("ROUNDS", rounds);
    named.put("HOT", hot);
    named.put("SPRINGBLOOM_SEED", seed);
    return named;
  }
}
