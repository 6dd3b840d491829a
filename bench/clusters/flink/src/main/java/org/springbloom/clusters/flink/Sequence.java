package org.springbloom.clusters.flink;

import java.io.Serializable;
import org.springbloom.clusters.Workload;

/** What the source emits: the load, then phases of orders and of events in turns. All follows from the number of an item. */
record Sequence(Workload workload, int records) implements Serializable {
  /** Items of the load. */
  long loadItems() {
    return 2L * workload.keys();
  }

  Item item(long number) {
    if (number < workload.keys()) {
      long customer = 2 * workload.loaded(number);
      return new Item(Item.Kind.CUSTOMER, workload.customerKey(customer), workload.customerValue(customer));
    }
    if (number < loadItems()) {
      return event(workload.loaded(number - workload.keys()));
    }
    long phase = (number - loadItems()) / records;
    // Within the phases of its kind.
    long ofKind = phase / 2 * records + (number - loadItems()) % records;
    return phase % 2 == 0 ? order(ofKind) : event(workload.idOf(ofKind));
  }

  private Item order(long order) {
    return new Item(Item.Kind.ORDER, workload.customerKey(workload.customerOf(order)), String.valueOf(order));
  }

  private Item event(long id) {
    return new Item(Item.Kind.EVENT, workload.idKey(id), String.valueOf(id));
  }
}
