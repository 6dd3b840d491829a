package org.springbloom.clusters.flink;

import java.util.BitSet;
import org.springbloom.clusters.Checksum;
import org.springbloom.clusters.Workload;

/**
 * What came out of the job since it began, each item once.
 *
 * @param orders with their answers
 * @param ids of events that were new
 */
public record Totals(long items, Checksum orders, Checksum ids) {
  static final Totals NONE = new Totals(0, Checksum.EMPTY, Checksum.EMPTY);

  Totals with(Item item) {
    return new Totals(
        items + 1,
        item.kind() == Item.Kind.ORDER ? orders.with(item.key(), item.value()) : orders,
        item.kind() == Item.Kind.EVENT ? ids.with(item.key(), item.value()) : ids);
  }

  /** What must come out of the first items of a sequence. */
  static Totals expected(Sequence sequence, long items) {
    Workload workload = sequence.workload();
    BitSet seen = new BitSet();
    Totals totals = NONE;
    for (long number = 0; number < items; number++) {
      Item item = sequence.item(number);
      totals = totals.with(after(workload, item, seen));
    }
    return totals;
  }

  private static Item after(Workload workload, Item item, BitSet seen) {
    if (item.kind() == Item.Kind.ORDER) {
      return new Item(item.kind(), item.key(), workload.answerOf(Long.parseLong(item.value())));
    }
    if (item.kind() == Item.Kind.EVENT) {
      int id = Integer.parseInt(item.value());
      Item.Kind kind = seen.get(id) ? Item.Kind.SEEN : Item.Kind.EVENT;
      seen.set(id);
      return new Item(kind, item.key(), item.value());
    }
    return item;
  }
}
