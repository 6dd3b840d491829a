package org.springbloom.rocksdb;

import java.lang.management.ManagementFactory;
import java.util.Map;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.StandardMBean;

/** Shows {@link Springbloom#stats} to JMX, as long as the class loader lives. */
final class ManagementBean implements SpringbloomMXBean {
  static final String NAME = "org.springbloom:type=Filters";

  /** Lives as long as this class does. */
  private static Object registration;

  private ManagementBean() {}

  /** Metrics are no reason for a store to fail: what goes wrong is logged. */
  static void register() {
    System.Logger log = System.getLogger(Springbloom.class.getName());
    try {
      if (register(ManagementFactory.getPlatformMBeanServer()) > 1) {
        log.log(
            System.Logger.Level.WARNING,
            "Springbloom was loaded by another class loader of this process before: it runs twice, each time with a budget of its own. "
                + "Give its jar to the class loader that loads RocksDB (in Flink: put it into the folder lib)");
      }
    } catch (JMException | RuntimeException error) {
      log.log(System.Logger.Level.WARNING, "Springbloom cannot show its metrics to JMX", error);
    }
  }

  /** The number of the name that was free: other class loaders have those before. */
  private static int register(MBeanServer server) throws JMException {
    StandardMBean bean = new StandardMBean(new ManagementBean(), SpringbloomMXBean.class, true);
    for (int number = 1; ; number++) {
      ObjectName name = new ObjectName(number == 1 ? NAME : NAME + ",loader=" + number);
      try {
        registration = WeakRegistration.register(server, name, bean);
        return number;
      } catch (InstanceAlreadyExistsException taken) {
        // The next one.
      }
    }
  }

  @Override
  public long getBudgetBytes() {
    return Springbloom.budgetBytes();
  }

  @Override
  public void setBudgetBytes(long budgetBytes) {
    Springbloom.setBudgetBytes(budgetBytes);
  }

  @Override
  public Map<String, Double> getMetrics() {
    return Springbloom.stats().values();
  }
}
