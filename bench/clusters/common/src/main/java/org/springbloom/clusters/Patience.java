package org.springbloom.clusters;

import java.util.concurrent.Callable;

/** Waits for what other processes do. */
public final class Patience {
  private static final long LIMIT_NS = 600_000_000_000L;

  private Patience() {}

  /** Asks again and again until the condition is true. */
  public static void await(String what, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + LIMIT_NS;
    while (!condition.call()) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("waited for ten minutes until " + what);
      }
      Thread.sleep(20);
    }
  }
}
