package org.springbloom.clusters;

import java.io.Serializable;
import java.util.BitSet;

/**
 * What goes into a cluster, and the answers that must come out. All of it follows from the seed and a number, so that whoever has the seed
 * can check the answers.
 *
 * <p>Orders ask for customers, half of which do not exist. Events have ids: half of them are new, the others were loaded.
 *
 * @param keys customers that exist, and ids of events that are loaded
 */
public record Workload(long seed, int keys, Hot hot) implements Serializable {
  /** How popular customers lie in the order of keys. The popularity falls with the third power. */
  public enum Hot {
    /** Beside each other, as the newest of numbered customers are. */
    TOGETHER,
    /** Anywhere, as those of hashed keys are. */
    SCATTERED;

    @Override
    public String toString() {
      return Environment.nameOf(this);
    }
  }

  /** For a customer that does not exist. */
  public static final String NOBODY = "nobody";

  private static final String PADDING = "v".repeat(100);

  /** The key of a customer; those with even numbers exist, from 0 to twice {@link #keys}. */
  public String customerKey(long number) {
    return hot == Hot.TOGETHER ? String.format("customer-%012d", number) : "customer-" + hash(number);
  }

  public String customerValue(long number) {
    return number + PADDING;
  }

  /** The customer of an order. */
  public long customerOf(long order) {
    long random = mix(seed ^ mix(order));
    double popular = (random >>> 11) * 0x1.0p-53;
    return 2 * (long) (popular * popular * popular * keys) + (mix(random) & 1);
  }

  /** What the join must answer: the order, and the number of the customer or {@link #NOBODY}. */
  public String answerOf(long order) {
    long customer = customerOf(order);
    return order + ":" + (customer % 2 == 0 ? customer : NOBODY);
  }

  /** The answer of the join, from an order and a customer's value or null. */
  public static String answer(String order, String customerValue) {
    return order + ":" + (customerValue == null ? NOBODY : customerValue.substring(0, customerValue.length() - PADDING.length()));
  }

  /** The id in an event after the load: a loaded one, or one that no other event has. */
  public long idOf(long event) {
    long random = mix(seed ^ mix(~event));
    return random < 0 ? keys + event : (random >>> 11) % keys;
  }

  /** All ids of the load and of the first events after it. */
  public BitSet ids(long events) {
    BitSet ids = new BitSet();
    ids.set(0, keys);
    for (long event = 0; event < events; event++) {
      ids.set((int) idOf(event));
    }
    return ids;
  }

  /** In which order customers and ids are loaded: each number below that of keys once, if the prime does not divide it. */
  public long loaded(long number) {
    return number * 2_654_435_761L % keys;
  }

  /** As long as random UUIDs without their dashes are, and in as random an order. */
  public String idKey(long id) {
    return hash(id) + hash(~id);
  }

  private String hash(long number) {
    return String.format("%016x", mix(seed + mix(number)));
  }

  /** The finalizer of SplitMix64, a bijection. */
  private static long mix(long number) {
    long mixed = number + 0x9E3779B97F4A7C15L;
    mixed = (mixed ^ (mixed >>> 30)) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
    return mixed ^ (mixed >>> 31);
  }
}
