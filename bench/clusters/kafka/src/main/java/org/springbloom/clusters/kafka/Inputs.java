package org.springbloom.clusters.kafka;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongFunction;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.springbloom.clusters.Workload;

/** Writes what an application reads; the same for each application. */
final class Inputs {
  private final KafkaProducer<String, String> producer;
  private final Topics topics;
  private final Workload workload;
  private long orders;
  private long events;

  Inputs(KafkaProducer<String, String> producer, Topics topics, Workload workload) {
    this.producer = producer;
    this.topics = topics;
    this.workload = workload;
  }

  /** Orders that were written. */
  long orders() {
    return orders;
  }

  /** Events that were written after the load. */
  long events() {
    return events;
  }

  /** All customers and all ids that are loaded. */
  void load() {
    send(0, workload.keys(), number -> customer(workload.loaded(number)));
    send(0, workload.keys(), number -> event(workload.loaded(number)));
  }

  void moreOrders(long count) {
    send(orders, count, this::order);
    orders += count;
  }

  void moreEvents(long count) {
    send(events, count, number -> event(workload.idOf(number)));
    events += count;
  }

  private ProducerRecord<String, String> customer(long number) {
    return new ProducerRecord<>(topics.customers(), workload.customerKey(2 * number), workload.customerValue(2 * number));
  }

  private ProducerRecord<String, String> order(long number) {
    return new ProducerRecord<>(topics.orders(), workload.customerKey(workload.customerOf(number)), String.valueOf(number));
  }

  private ProducerRecord<String, String> event(long id) {
    return new ProducerRecord<>(topics.events(), workload.idKey(id), String.valueOf(id));
  }

  private void send(long first, long count, LongFunction<ProducerRecord<String, String>> make) {
    AtomicReference<Exception> failure = new AtomicReference<>();
    for (long number = first; number < first + count; number++) {
      producer.send(
          make.apply(number),
          (metadata, error) -> {
            if (error != null) {
              failure.set(error);
            }
          });
    }
    producer.flush();
    if (failure.get() != null) {
      throw new IllegalStateException("a record was not written to the broker", failure.get());
    }
  }
}
