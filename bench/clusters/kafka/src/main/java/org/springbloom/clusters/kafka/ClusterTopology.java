package org.springbloom.clusters.kafka;

import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorContext;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorSupplier;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.springbloom.clusters.Workload;

/** Two topologies in one: a left join of orders with a table of customers, and a deduplication of events. */
final class ClusterTopology {
  /** Stores. */
  static final String CUSTOMERS = "customers";

  static final String SEEN = "seen";

  private ClusterTopology() {}

  static Topology build(Topics topics, Properties properties) {
    StreamsBuilder builder = new StreamsBuilder();
    var customers =
        builder.table(
            topics.customers(), Materialized.<String, String>as(TimedStore.of(Stores.persistentTimestampedKeyValueStore(CUSTOMERS))));
    builder.<String, String>stream(topics.orders()).leftJoin(customers, ClusterTopology::join).to(topics.joined());
    builder.<String, String>stream(topics.events()).processValues(new Deduplicating()).to(topics.unique());
    return builder.build(properties);
  }

  private static String join(String order, String customer) {
    Processed.JOINED.increment();
    return Workload.answer(order, customer);
  }

  private static final class Deduplicating implements FixedKeyProcessorSupplier<String, String, String> {
    @Override
    public Set<StoreBuilder<?>> stores() {
      return Set.of(
          Stores.keyValueStoreBuilder(TimedStore.of(Stores.persistentKeyValueStore(SEEN)), Serdes.String(), Serdes.String()));
    }

    @Override
    public FixedKeyProcessor<String, String, String> get() {
      return new Deduplication();
    }
  }

  /** Lets the first record of each key pass. */
  private static final class Deduplication implements FixedKeyProcessor<String, String, String> {
    private FixedKeyProcessorContext<String, String> context;
    private KeyValueStore<String, String> seen;

    @Override
    public void init(FixedKeyProcessorContext<String, String> given) {
      context = given;
      seen = given.getStateStore(SEEN);
    }

    @Override
    public void process(FixedKeyRecord<String, String> record) {
      if (seen.get(record.key()) == null) {
        seen.put(record.key(), record.value());
        context.forward(record);
      }
      Processed.DEDUPLICATED.increment();
    }
  }
}
