package org.springbloom.clusters.flink;

/** What flows through the job. */
public record Item(Kind kind, String key, String value) {
  /** Customers, orders and events go in; to the tally come customers, orders with their answers, and events as new or as seen. */
  public enum Kind {
    CUSTOMER,
    ORDER,
    EVENT,
    SEEN
  }
}
