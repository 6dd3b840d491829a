package org.springbloom.rocksdb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.management.Attribute;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.openmbean.TabularData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

class LifetimesTest {
  private static final int KEYS = 20_000;

  @TempDir Path folder;

  private static List<String> ourThreads() throws Exception {
    try (Stream<Path> tasks = Files.list(Paths.get("/proc/self/task"))) {
      List<String> names = new ArrayList<>();
      for (Path task : tasks.collect(Collectors.toList())) {
        String name;
        try {
          name = Files.readString(task.resolve("comm")).trim();
        } catch (NoSuchFileException e) {
          continue; // it has ended
        }
        // Those that load with it end when there is nothing to load.
        if (name.startsWith("springbloom") && !name.startsWith("springbloom-loa")) {
          names.add(name);
        }
      }
      names.sort(null);
      return names;
    }
  }

  private static int openFiles() {
    return new File("/proc/self/fd").list().length;
  }

  @Test
  void allStoresShareOneBudgetAndClosingThemLeavesNothing() throws Exception {
    List<AutoCloseable> open = new ArrayList<>();
    List<RocksDB> databases = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
      open.add(0, options);
      RocksDB database = Stores.open(options, folder.resolve("store" + i));
      open.add(0, database);
      databases.add(database);
      Stores.fill(database, KEYS);
    }
    List<String> threads = ourThreads();
    assertEquals(List.of("springbloom", "springbloom-mai"), threads);
    for (RocksDB database : databases) {
      Stores.check(database, KEYS);
    }
    Stores.waitIdle();
    SpringbloomStats all = Springbloom.stats();
    assertTrue(all.tables() >= 4 && all.residentUnits() > 0, all.toString());
    assertTrue(all.peakBytes() <= all.budgetBytes() && all.budgetBytes() == 16 << 20, all.toString());
    for (AutoCloseable closeable : open) {
      closeable.close();
    }
    SpringbloomStats none = Springbloom.stats();
    assertEquals(0, none.tables(), none.toString());
    assertEquals(0, none.residentUnits(), none.toString());
    assertEquals(threads, ourThreads());
  }

  @Test
  void storesThatAreOpenedAgainAndAgainLeaveNoFilesAndThreads() throws Exception {
    int files = 0;
    List<String> threads = List.of();
    for (int i = 0; i < 30; i++) {
      try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
          RocksDB database = Stores.open(options, folder)) {
        Stores.fill(database, 1000);
        Stores.check(database, 1000);
      }
      if (i == 5) {
        files = openFiles();
        threads = ourThreads();
      }
    }
    assertEquals(files, openFiles());
    assertEquals(threads, ourThreads());
    assertEquals(0, Springbloom.stats().tables());
  }

  @Test
  void whatWasExtractedIsGone() throws Exception {
    try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
        Stream<Path> files = Files.list(Paths.get(System.getProperty("java.io.tmpdir")))) {
      assertTrue(options.isOwningHandle());
      List<Path> mapped =
          Mapping.ofThisProcess().stream()
              .filter(mapping -> mapping.fileName().contains("libspringbloom"))
              .map(mapping -> Paths.get(mapping.file).getParent())
              .collect(Collectors.toList());
      assertFalse(mapped.isEmpty());
      assertTrue(files.noneMatch(mapped::contains), mapped.toString());
    }
  }

  @Test
  void jmxShowsTheMetricsAndChangesTheBudget() throws Exception {
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    ObjectName name = new ObjectName("org.springbloom:type=Filters");
    try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
        RocksDB database = Stores.open(options, folder)) {
      Stores.fill(database, KEYS);
      Stores.check(database, KEYS);
      assertEquals(16L << 20, server.getAttribute(name, "BudgetBytes"));
      TabularData metrics = (TabularData) server.getAttribute(name, "Metrics");
      String found = "springbloom_visits_total{outcome=\"true_positive\"}";
      assertTrue((double) metrics.get(new Object[] {found}).get("value") > 0);
      server.setAttribute(name, new Attribute("BudgetBytes", 8L << 20));
      assertEquals(8L << 20, Springbloom.budgetBytes());
      Stores.check(database, KEYS);
    }
  }

  /** Of an application that brings Springbloom itself, above the class loader that has RocksDB. */
  private static final class ApplicationLoader extends URLClassLoader {
    ApplicationLoader() {
      super(new URL[] {locationOf(Springbloom.class), locationOf(LifetimesTest.class)}, LifetimesTest.class.getClassLoader());
    }

    private static URL locationOf(Class<?> type) {
      return type.getProtectionDomain().getCodeSource().getLocation();
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith("org.springbloom.")) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded == null ? findClass(name) : loaded;
      }
    }
  }

  /** What the application does. */
  public static final class Application implements Consumer<Path> {
    @Override
    public void accept(Path folder) {
      try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
          RocksDB database = Stores.open(options, folder)) {
        Stores.fill(database, KEYS);
        Stores.check(database, KEYS);
        Stores.waitIdle();
        assertTrue(Springbloom.stats().residentUnits() > 0);
      } catch (Exception error) {
        throw new AssertionError(error);
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static WeakReference<ClassLoader> runAnApplication(Path folder) throws Exception {
    try (ApplicationLoader loader = new ApplicationLoader()) {
      Class<?> application = loader.loadClass(Application.class.getName());
      assertEquals(loader, application.getClassLoader());
      ((Consumer<Path>) application.getConstructor().newInstance()).accept(folder);
      return new WeakReference<>(loader);
    }
  }

  private static Set<ObjectName> beans() throws Exception {
    return ManagementFactory.getPlatformMBeanServer().queryNames(new ObjectName("org.springbloom:*"), null);
  }

  @Test
  void aClassLoaderGoesAndTakesItsThreadsAndItsBeanAlong() throws Exception {
    // This class loader's, whichever test runs first.
    RocksDB.loadLibrary();
    Springbloom.stats();
    List<String> threads = ourThreads();
    Set<ObjectName> beans = beans();
    assertEquals(1, beans.size());
    for (int i = 0; i < 3; i++) {
      WeakReference<ClassLoader> loader = runAnApplication(folder.resolve("store" + i));
      assertEquals(threads.size() + 2, ourThreads().size());
      assertEquals(2, beans().size());
      long deadline = System.nanoTime() + 60_000_000_000L;
      while ((ourThreads().size() > threads.size() || beans().size() > 1) && System.nanoTime() < deadline) {
        System.gc();
        Thread.sleep(20);
      }
      assertNull(loader.get(), "something keeps the class loader");
      assertEquals(threads, ourThreads());
      assertEquals(beans, beans());
    }
  }

  /** RocksDB keeps a configuration's options alive; the objects of Java may go. */
  @Test
  void aStoreOutlivesTheConfigurationThatItWasOpenedWith() throws Exception {
    RocksDB database;
    try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE))) {
      database = Stores.open(options, folder);
    }
    System.gc();
    Stores.fill(database, KEYS);
    Stores.check(database, KEYS);
    database.close();
  }
}
