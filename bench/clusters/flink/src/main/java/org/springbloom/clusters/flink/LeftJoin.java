package org.springbloom.clusters.flink;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import org.springbloom.clusters.StoreMeter;
import org.springbloom.clusters.Workload;

/** Keeps customers, and answers orders: half of them are of customers that do not exist. */
final class LeftJoin extends KeyedProcessFunction<String, Item, Item> {
  private static final long serialVersionUID = 1;

  private transient ValueState<String> customer;
  private transient StoreMeter meter;

  @Override
  public void open(OpenContext context) {
    customer = getRuntimeContext().getState(new ValueStateDescriptor<>("customer", String.class));
    meter = StoreMeter.of(ClusterOptionsFactory.METER);
    OpenStores.add();
  }

  @Override
  public void processElement(Item item, Context context, Collector<Item> out) throws Exception {
    if (item.kind() == Item.Kind.CUSTOMER) {
      customer.update(item.value());
      out.collect(item);
      return;
    }
    long begin = System.nanoTime();
    String value = customer.value();
    meter.recordGet(System.nanoTime() - begin);
    out.collect(new Item(item.kind(), item.key(), Workload.answer(item.value(), value)));
  }
}
