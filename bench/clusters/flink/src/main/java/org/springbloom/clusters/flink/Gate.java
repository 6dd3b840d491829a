package org.springbloom.clusters.flink;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiter;

/**
 * Holds the one source of this process back at a number, which the process raises. While the source waits, checkpoints go on. After a
 * restore one item passes in any case, as only then it shows where the source is.
 */
final class Gate implements RateLimiter<NumberSequenceSplit> {
  private static long limit;
  private static long next;
  private static CompletableFuture<Void> waiting = CompletableFuture.completedFuture(null);

  /** Lets all items below the number pass. */
  static synchronized void raise(long number) {
    limit = number;
    if (next < limit) {
      waiting.complete(null);
    }
  }

  /** The source emits an item. */
  static synchronized void passes(long number) {
    next = number + 1;
  }

  private static synchronized CompletionStage<Void> untilNextMayPass() {
    if (next < limit) {
      return CompletableFuture.completedFuture(null);
    }
    waiting = new CompletableFuture<>();
    return waiting;
  }

  @Override
  public CompletionStage<Void> acquire(int count) {
    return untilNextMayPass();
  }
}
