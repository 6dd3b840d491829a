package org.springbloom.clusters.flink;

import java.util.List;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;
import org.springbloom.clusters.Checksum;

/** Adds up what comes out. It is part of the checkpoints: after a restore, an item that was lost or came twice shows. */
final class Tally extends ProcessFunction<Item, Void> implements CheckpointedFunction {
  private static final long serialVersionUID = 1;

  /** Of the one instance in this process. */
  private static volatile Totals latest = Totals.NONE;

  private transient Totals totals;
  private transient ListState<Long> saved;

  static Totals latest() {
    return latest;
  }

  @Override
  public void initializeState(FunctionInitializationContext context) throws Exception {
    saved = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("totals", Long.class));
    totals = Totals.NONE;
    if (context.isRestored()) {
      List<Long> numbers = new java.util.ArrayList<>();
      saved.get().forEach(numbers::add);
      totals =
          new Totals(numbers.get(0), new Checksum(numbers.get(1), numbers.get(2)), new Checksum(numbers.get(3), numbers.get(4)));
    }
    latest = totals;
  }

  @Override
  public void snapshotState(FunctionSnapshotContext context) throws Exception {
    saved.update(
        List.of(totals.items(), totals.orders().entries(), totals.orders().sum(), totals.ids().entries(), totals.ids().sum()));
  }

  @Override
  public void processElement(Item item, Context context, Collector<Void> out) {
    totals = totals.with(item);
    latest = totals;
  }
}
