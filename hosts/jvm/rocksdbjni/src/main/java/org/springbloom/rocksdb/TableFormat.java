package org.springbloom.rocksdb;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;

/**
 * For classes that a framework wants as a subclass of its own: {@code newTableFactoryHandle()} returns {@code
 * TableFormat.withFilters(super.newTableFactoryHandle(), settings)}.
 */
public final class TableFormat {
  /** Once for all stores of the process: each takes the settings. */
  private static final AtomicBoolean WARNED_OF_NO_BUDGET = new AtomicBoolean();

  private static final String NO_OPTIONS = "springbloom: the options of the block-based format are null";

  private TableFormat() {}

  /**
   * Takes the native handle of a stock block-based table factory, which is gone in any case, and gives that of one with elastic filters.
   *
   * @throws IllegalArgumentException if a setting is wrong
   * @throws SpringbloomException if Springbloom cannot run in this process
   */
  public static long withFilters(long stockFactory, SpringbloomSettings settings) {
    Objects.requireNonNull(settings, "springbloom: the settings are null");
    NativeLibrary.load();
    long factory = Native.wrap(stockFactory, settings.namesAndValues());
    if (settings.asksForNoBudget() && !WARNED_OF_NO_BUDGET.getAndSet(true)) {
      System.getLogger(Springbloom.class.getName())
          .log(System.Logger.Level.WARNING, "Springbloom: the budget is 0 bytes, so no lookup is filtered until it grows");
    }
    return factory;
  }

  /** Copies all options of the block-based format. RocksDB's class offers no other way, and which it has depends on the release. */
  public static void copyOptions(BlockBasedTableConfig from, BlockBasedTableConfig to) {
    Objects.requireNonNull(from, NO_OPTIONS);
    Objects.requireNonNull(to, NO_OPTIONS);
    for (Field field : BlockBasedTableConfig.class.getDeclaredFields()) {
      if (!Modifier.isStatic(field.getModifiers())) {
        try {
          field.setAccessible(true);
          field.set(to, field.get(from));
        } catch (ReflectiveOperationException | RuntimeException error) {
          throw inaccessible(field.getName(), error);
        }
      }
    }
  }

  /** The block cache of a configuration, which RocksDB's class does not tell; null if it has none. */
  public static Cache blockCacheOf(BlockBasedTableConfig config) {
    Objects.requireNonNull(config, NO_OPTIONS);
    String name = "blockCache";
    try {
      Field field = BlockBasedTableConfig.class.getDeclaredField(name);
      field.setAccessible(true);
      return (Cache) field.get(config);
    } catch (ReflectiveOperationException | RuntimeException error) {
      throw inaccessible(name, error);
    }
  }

  private static SpringbloomException inaccessible(String option, Exception error) {
    return new SpringbloomException("cannot reach the option " + option + " of the block-based format", error);
  }
}
