package org.springbloom.rocksdb;

import java.util.Map;

/** What JMX shows of the elastic filters of this process, under {@value ManagementBean#NAME}. */
public interface SpringbloomMXBean {
  /** Budget in force. */
  long getBudgetBytes();

  /** Changes the budget of all stores of the process. */
  void setBudgetBytes(long budgetBytes);

  /** All metrics by their names, with label if there is one. */
  Map<String, Double> getMetrics();
}
