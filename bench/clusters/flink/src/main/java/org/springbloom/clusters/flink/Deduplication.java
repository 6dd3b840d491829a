package org.springbloom.clusters.flink;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import org.springbloom.clusters.StoreMeter;

/** Tells the first event with an id from those after it. */
final class Deduplication extends KeyedProcessFunction<String, Item, Item> {
  private static final long serialVersionUID = 1;

  private transient ValueState<String> seen;
  private transient StoreMeter meter;

  @Override
  public void open(OpenContext context) {
    seen = getRuntimeContext().getState(new ValueStateDescriptor<>("seen", String.class));
    meter = StoreMeter.of(ClusterOptionsFactory.METER);
    OpenStores.add();
  }

  @Override
  public void processElement(Item item, Context context, Collector<Item> out) throws Exception {
    long begin = System.nanoTime();
    boolean isNew = seen.value() == null;
    meter.recordGet(System.nanoTime() - begin);
    if (isNew) {
      seen.update(item.value());
    }
    out.collect(isNew ? item : new Item(Item.Kind.SEEN, item.key(), item.value()));
  }
}
