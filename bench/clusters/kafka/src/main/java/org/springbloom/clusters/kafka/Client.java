package org.springbloom.clusters.kafka;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What the comparison asks of the broker. */
final class Client implements AutoCloseable {
  static final int PARTITIONS = 4;

  /** A busy machine may take long to start a broker. */
  private static final int TIMEOUT_MS = 600_000;

  private final String bootstrap;
  private final Admin admin;
  private final KafkaProducer<String, String> producer;

  Client(String bootstrap) {
    this.bootstrap = bootstrap;
    admin = Admin.create(Map.of("bootstrap.servers", bootstrap, "default.api.timeout.ms", TIMEOUT_MS));
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers", bootstrap, "linger.ms", 20, "batch.size", 1 << 17, "max.block.ms", TIMEOUT_MS, "delivery.timeout.ms",
            TIMEOUT_MS);
    producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
  }

  KafkaProducer<String, String> producer() {
    return producer;
  }

  /** Waits until the broker answers. */
  void createTopics(List<String> names) throws ExecutionException, InterruptedException {
    admin.createTopics(names.stream().map(name -> new NewTopic(name, PARTITIONS, (short) 1)).toList()).all().get();
  }

  /** Sees nothing of transactions that were not committed. */
  KafkaConsumer<String, String> consumer(List<String> topics) {
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers", bootstrap, "isolation.level", "read_committed", "auto.offset.reset", "earliest", "enable.auto.commit",
            false, "max.poll.records", 10_000, "default.api.timeout.ms", TIMEOUT_MS);
    KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    consumer.assign(partitions(topics));
    return consumer;
  }

  static List<TopicPartition> partitions(Collection<String> topics) {
    return topics.stream()
        .flatMap(topic -> Stream.iterate(0, number -> number + 1).limit(PARTITIONS).map(number -> new TopicPartition(topic, number)))
        .toList();
  }

  /** Records of the topics that a consumer group has not committed. */
  long lag(String group, List<String> topics) throws ExecutionException, InterruptedException {
    Map<TopicPartition, OffsetSpec> latest =
        partitions(topics).stream().collect(Collectors.toMap(partition -> partition, partition -> OffsetSpec.latest()));
    var ends = admin.listOffsets(latest).all().get();
    Map<TopicPartition, OffsetAndMetadata> committed =
        new HashMap<>(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get());
    return ends.entrySet().stream()
        .mapToLong(
            end -> {
              OffsetAndMetadata offset = committed.get(end.getKey());
              return end.getValue().offset() - (offset == null ? 0 : offset.offset());
            })
        .sum();
  }

  @Override
  public void close() {
    producer.close();
    admin.close();
  }
}
