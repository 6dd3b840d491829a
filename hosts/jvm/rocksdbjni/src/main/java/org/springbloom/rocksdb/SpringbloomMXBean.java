package org.springbloom.rocksdb;

import java.util.Map;

/** What JMX shows of the elastic filters of this process, under {@value ManagementBean#NAME}. */
public interface SpringbloomMXBean {
  /** Budget in force. */
  long getBudgetBytes();

  /** Changes the budget of all stores of the process. */
  void setBudgetBytes(long budgetBytes);

  /** Bytes in use, of the budget. */
  long getUsedBytes();

  /** Most bytes ever in use. */
  long getPeakBytes();

  /** Filter units in memory. */
  long getResidentUnits();

  /** Known tables. */
  long getTables();

  /** Opened tables that found no room for their bookkeeping. */
  long getTablesRefused();

  /** Lookups that a table did not have to be read for. */
  long getAvoidedReads();

  /** Reads of data blocks that did not hold the key. */
  long getWastedReads();

  /** Reads that found the key. */
  long getTruePositives();

  /** All metrics by their names, with label if there is one. */
  Map<String, Double> getMetrics();
}
