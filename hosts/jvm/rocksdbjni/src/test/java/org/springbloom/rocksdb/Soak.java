package org.springbloom.rocksdb;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Snapshot;

/**
 * Random operations of eight threads on stores that share a budget, with garbage collections, changes of the budget, and threads that
 * close stores and open them again, also without Springbloom. Every answer is checked: a key belongs to one thread, which remembers what it
 * wrote.
 *
 * <p>{@code main FOLDER SECONDS SEED END}: END is {@code close}, or how the process ends in the middle: {@code exit} or {@code halt}. The
 * process ends with 0 or, in the middle, with {@value #ENDED}.
 */
final class Soak {
  static final int ENDED = 3;
  /** What it prints when all is under way. */
  static final String RUNNING = "running";

  private static final int THREADS = 8;
  private static final int STORES = 4;
  private static final int KEYS_OF_A_THREAD = 4000;
  /** In each store, so that each has keys. */
  private static final int OPERATIONS_BEFORE_THE_MIDDLE = 500;

  private final long seconds;
  private final long seed;
  private final List<Store> stores = new ArrayList<>();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final AtomicLong operations = new AtomicLong();
  private final AtomicLong openings = new AtomicLong();
  private volatile long deadline;

  private Soak(Path folder, long seconds, long seed) throws RocksDBException {
    this.seconds = seconds;
    this.seed = seed;
    for (int i = 0; i < STORES; i++) {
      stores.add(new Store(folder.resolve("store" + i)));
    }
  }

  public static void main(String[] arguments) throws Exception {
    long seconds = Long.parseLong(arguments[1]);
    String end = arguments[3];
    RocksDB.loadLibrary();
    Soak soak = new Soak(Paths.get(arguments[0]), seconds, Long.parseLong(arguments[2]));
    Thread ender = new Thread(() -> soak.endInTheMiddle(end));
    ender.setDaemon(true);
    ender.start();
    soak.run();
    System.out.printf(
        "seed %d: %d operations, %d openings, %d reads avoided, %d wasted%n",
        soak.seed,
        soak.operations.get(),
        soak.openings.get(),
        Springbloom.stats().avoidedReads(),
        Springbloom.stats().wastedReads());
  }

  /** Also tells when the middle begins. */
  private void endInTheMiddle(String end) {
    try {
      while (stores.stream().anyMatch(store -> store.operations.get() < OPERATIONS_BEFORE_THE_MIDDLE)) {
        Thread.sleep(10);
      }
      System.out.println(RUNNING);
      Thread.sleep(new Random(seed).nextInt(500));
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
    if (end.equals("exit")) {
      System.exit(ENDED);
    } else if (end.equals("halt")) {
      Runtime.getRuntime().halt(ENDED);
    }
  }

  private void run() throws Exception {
    deadline = System.nanoTime() + seconds * 1_000_000_000L;
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int number = i;
      threads.add(thread("user" + i, () -> new User(number).run()));
    }
    threads.add(thread("closer", this::closeAndOpen));
    threads.add(thread("budget", this::changeTheBudget));
    threads.add(thread("garbage", this::makeGarbage));
    for (Thread thread : threads) {
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    for (Store store : stores) {
      store.close();
    }
    if (failure.get() != null) {
      throw new IllegalStateException("seed " + seed, failure.get());
    }
    SpringbloomStats stats = Springbloom.stats();
    if (stats.tables() != 0 || stats.residentUnits() != 0) {
      throw new IllegalStateException("closed stores left something: " + stats);
    }
  }

  private interface Task {
    void run() throws Exception;
  }

  private Thread thread(String name, Task task) {
    return new Thread(
        () -> {
          try {
            task.run();
          } catch (Throwable error) {
            failure.compareAndSet(null, error);
          }
        },
        name);
  }

  private boolean goesOn() {
    return failure.get() == null && System.nanoTime() < deadline;
  }

  private void closeAndOpen() throws Exception {
    Random random = new Random(seed - 1);
    while (goesOn()) {
      Store store = stores.get(random.nextInt(STORES));
      store.lock.writeLock().lock();
      try {
        store.close();
        if (random.nextInt(4) == 0) {
          store.open(false);
          store.database.verifyChecksum();
          store.close();
        }
        store.open(true);
        openings.incrementAndGet();
      } finally {
        store.lock.writeLock().unlock();
      }
      Thread.sleep(random.nextInt(100));
    }
  }

  private void changeTheBudget() throws Exception {
    Random random = new Random(seed - 2);
    while (goesOn()) {
      Springbloom.setBudgetBytes(random.nextInt(8) == 0 ? 0 : random.nextInt(4 << 20));
      SpringbloomStats stats = Springbloom.stats();
      if (stats.usedBytes() > stats.budgetBytes()) {
        throw new IllegalStateException("more in use than the budget: " + stats);
      }
      Thread.sleep(random.nextInt(50));
    }
  }

  /** Collections close what nobody refers to: a native object that only Java refers to would be missed. */
  private void makeGarbage() throws Exception {
    List<byte[]> garbage = new ArrayList<>();
    while (goesOn()) {
      for (int i = 0; i < 16; i++) {
        garbage.add(new byte[1 << 20]);
      }
      garbage.clear();
      System.gc();
      Thread.sleep(100);
    }
  }

  private static final class Store {
    final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final Path folder;
    private Options options;
    final AtomicLong operations = new AtomicLong();
    RocksDB database;

    Store(Path folder) throws RocksDBException {
      this.folder = folder;
      open(true);
    }

    void open(boolean isElastic) throws RocksDBException {
      // The budget belongs to another thread.
      BlockBasedTableConfig tables =
          isElastic ? new SpringbloomTableConfig(SpringbloomSettings.defaults()) : new BlockBasedTableConfig();
      options = Stores.options(tables).setWriteBufferSize(64 << 10).setTargetFileSizeBase(64 << 10).setMaxOpenFiles(20);
      database = Stores.open(options, folder);
    }

    void close() {
      database.close();
      options.close();
    }
  }

  /** A thread with keys of its own in all stores. */
  private final class User {
    private final Random random;
    private final int number;
    private final List<Map<Integer, Integer>> written = new ArrayList<>();

    User(int number) {
      this.number = number;
      // Generators with neighbouring seeds begin alike: all threads would begin with the same store.
      this.random = new Random(new SplittableRandom(seed + number).nextLong());
      for (int i = 0; i < STORES; i++) {
        written.add(new HashMap<>());
      }
    }

    void run() throws Exception {
      while (goesOn()) {
        int which = random.nextInt(STORES);
        Store store = stores.get(which);
        store.lock.readLock().lock();
        try {
          for (int i = 0; i < 50; i++) {
            step(store.database, written.get(which));
          }
          store.operations.addAndGet(50);
          operations.addAndGet(50);
        } finally {
          store.lock.readLock().unlock();
        }
      }
    }

    private byte[] key(int key) {
      return Stores.key(key * THREADS + number);
    }

    private byte[] value(int key, int version) {
      byte[] value = new byte[100];
      ByteBuffer.wrap(value).putInt(key).putInt(version);
      return value;
    }

    private void step(RocksDB database, Map<Integer, Integer> model) throws RocksDBException {
      int key = random.nextInt(KEYS_OF_A_THREAD);
      int choice = random.nextInt(1000);
      if (choice < 300) {
        int version = random.nextInt();
        database.put(key(key), value(key, version));
        model.put(key, version);
      } else if (choice < 400) {
        database.delete(key(key));
        model.remove(key);
      } else if (choice < 800) {
        check(database.get(key(key)), model, key);
      } else if (choice < 950) {
        lookUpMany(database, model);
      } else if (choice < 990) {
        readASnapshot(database, model, key);
      } else if (choice < 998) {
        iterate(database, model, key);
      } else if (choice < 999) {
        // One that does not wait fails while writes are stopped.
        try (FlushOptions flush = new FlushOptions()) {
          database.flush(flush);
        }
      } else if (random.nextInt(20) == 0) {
        database.compactRange();
      }
    }

    private void lookUpMany(RocksDB database, Map<Integer, Integer> model) throws RocksDBException {
      List<Integer> keys = new ArrayList<>();
      List<byte[]> encoded = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        keys.add(random.nextInt(KEYS_OF_A_THREAD));
        encoded.add(key(keys.get(i)));
      }
      List<byte[]> values = database.multiGetAsList(encoded);
      for (int i = 0; i < keys.size(); i++) {
        check(values.get(i), model, keys.get(i));
      }
    }

    private void readASnapshot(RocksDB database, Map<Integer, Integer> model, int key) throws RocksDBException {
      Snapshot snapshot = database.getSnapshot();
      try (ReadOptions options = new ReadOptions().setSnapshot(snapshot)) {
        Map<Integer, Integer> before = new HashMap<>();
        if (model.containsKey(key)) {
          before.put(key, model.get(key));
        }
        int version = random.nextInt();
        database.put(key(key), value(key, version));
        model.put(key, version);
        check(database.get(options, key(key)), before, key);
      } finally {
        database.releaseSnapshot(snapshot);
      }
      check(database.get(key(key)), model, key);
    }

    private void iterate(RocksDB database, Map<Integer, Integer> model, int key) throws RocksDBException {
      try (RocksIterator iterator = database.newIterator()) {
        iterator.seek(key(key));
        boolean isThere = iterator.isValid() && Arrays.equals(iterator.key(), key(key));
        check(isThere ? iterator.value() : null, model, key);
        iterator.status();
      }
    }

    private void check(byte[] found, Map<Integer, Integer> model, int key) {
      Integer version = model.get(key);
      byte[] expected = version == null ? null : value(key, version);
      if (!Arrays.equals(expected, found)) {
        throw new IllegalStateException(
            "key " + key + " of thread " + number + ": expected " + Arrays.toString(expected) + ", got " + Arrays.toString(found));
      }
    }
  }
}
