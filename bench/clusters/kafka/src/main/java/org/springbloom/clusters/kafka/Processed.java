package org.springbloom.clusters.kafka;

import java.util.concurrent.atomic.LongAdder;

/** Records that this process was through with. */
final class Processed {
  static final LongAdder JOINED = new LongAdder();
  static final LongAdder DEDUPLICATED = new LongAdder();

  private Processed() {}
}
