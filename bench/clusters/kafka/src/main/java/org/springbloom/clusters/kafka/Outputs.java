package org.springbloom.clusters.kafka;

import java.time.Duration;
import java.util.BitSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.springbloom.clusters.Checksum;
import org.springbloom.clusters.Workload;

/** Verifies what an application wrote: each order has its answer once, and of each id one event passed. */
final class Outputs implements AutoCloseable {
  private final Topics topics;
  private final Workload workload;
  private final KafkaConsumer<String, String> consumer;
  private final BitSet orders = new BitSet();
  private final BitSet ids = new BitSet();

  Outputs(Client client, Topics topics, Workload workload) {
    this.topics = topics;
    this.workload = workload;
    consumer = client.consumer(topics.outputs());
  }

  /** Reads what is new. All that was written to the application must be processed. */
  void verify(long ordersWritten, long eventsWritten) {
    var partitions = Client.partitions(topics.outputs());
    var ends = consumer.endOffsets(partitions);
    while (partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
      for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
        if (record.topic().equals(topics.joined())) {
          verifyOrder(record);
        } else {
          verifyEvent(record);
        }
      }
    }
    expect("orders with an answer", ordersWritten, orders.cardinality());
    expect("distinct ids that passed", workload.ids(eventsWritten).cardinality(), ids.cardinality());
  }

  private void verifyOrder(ConsumerRecord<String, String> record) {
    int order = Integer.parseInt(record.value().split(":")[0]);
    expect("answer of an order", workload.answerOf(order), record.value());
    if (orders.get(order)) {
      throw wrong("order " + order + " has a second answer");
    }
    orders.set(order);
  }

  private void verifyEvent(ConsumerRecord<String, String> record) {
    int id = Integer.parseInt(record.value());
    if (!record.key().equals(workload.idKey(id)) || ids.get(id)) {
      throw wrong("id " + id + ": " + (ids.get(id) ? "passed twice" : "with the key " + record.key()));
    }
    ids.set(id);
  }

  /** What the store of ids must hold. */
  Checksum expectedSeen(long eventsWritten) {
    return workload.ids(eventsWritten).stream()
        .mapToObj(id -> Checksum.EMPTY.with(workload.idKey(id), String.valueOf(id)))
        .reduce(Checksum.EMPTY, Checksum::and);
  }

  /** What the store of customers must hold. */
  Checksum expectedCustomers() {
    Checksum checksum = Checksum.EMPTY;
    for (long number = 0; number < workload.keys(); number++) {
      checksum = checksum.with(workload.customerKey(2 * number), workload.customerValue(2 * number));
    }
    return checksum;
  }

  void expect(String what, Object expected, Object found) {
    if (!String.valueOf(expected).equals(String.valueOf(found))) {
      throw wrong(what + ": expected " + expected + ", found " + found);
    }
  }

  private IllegalStateException wrong(String what) {
    return new IllegalStateException("wrong answer with the filters " + topics.filters() + ": " + what);
  }

  @Override
  public void close() {
    consumer.close();
  }
}
