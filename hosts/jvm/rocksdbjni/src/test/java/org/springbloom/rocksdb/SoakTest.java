package org.springbloom.rocksdb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;

/** Runs {@link Soak} in processes of its own, some of which end in the middle. {@code -Dsoak.seconds=600} makes it longer. */
class SoakTest {
  private static final long SECONDS = Long.getLong("soak.seconds", 12);
  private static final long SEED = Long.getLong("soak.seed", System.nanoTime());

  @TempDir Path folder;

  private Process start(Path stores, long seconds, long seed, String end) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-ea", "-Xmx64m", "-Xcheck:jni", "-XX:ErrorFile=" + folder.resolve("error%p.log")));
    command.addAll(List.of("-Djava.io.tmpdir=" + Files.createDirectories(folder.resolve("tmp"))));
    command.addAll(List.of("-cp", System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))));
    command.addAll(List.of(Soak.class.getName(), stores.toString(), "" + seconds, "" + seed, end));
    File output = folder.resolve("output").toFile();
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(output))
        .start();
  }

  private String output() throws IOException {
    return Files.readString(folder.resolve("output"));
  }

  /** The stock jar opens, verifies and compacts the stores, and finds each key that it iterates over. */
  private static void checkWithTheStockJar(Path stores) throws Exception {
    List<Path> all;
    try (Stream<Path> folders = Files.list(stores)) {
      all = folders.collect(Collectors.toList());
    }
    assertEquals(4, all.size());
    for (Path store : all) {
      try (Options options = Stores.options(new BlockBasedTableConfig());
          RocksDB database = Stores.open(options, store)) {
        database.verifyChecksum();
        database.compactRange();
        int keys = 0;
        try (RocksIterator iterator = database.newIterator()) {
          for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
            keys += database.get(iterator.key()) == null ? 0 : 1;
          }
          iterator.status();
        }
        assertTrue(keys > 0, store.toString());
      }
    }
  }

  @Test
  void eightThreadsGarbageAndClosingStores() throws Exception {
    System.out.println("soak.seed " + SEED);
    Path stores = Files.createDirectory(folder.resolve("stores"));
    int code = start(stores, SECONDS, SEED, "close").waitFor();
    System.out.print(output());
    assertEquals(0, code, output());
    // -Xcheck:jni warns in these words.
    assertTrue(!output().contains("WARNING in native method"), output());
    checkWithTheStockJar(stores);
  }

  @Test
  void processesThatEndInTheMiddle() throws Exception {
    for (int run = 0; run < Math.max(SECONDS / 6, 2); run++) {
      for (String end : List.of("exit", "halt", "kill")) {
        Path stores = Files.createDirectory(folder.resolve("stores-" + run + end));
        Files.deleteIfExists(folder.resolve("output"));
        Process process = start(stores, 600, SEED + run, end.equals("kill") ? "close" : end);
        while (process.isAlive() && !output().contains(Soak.RUNNING)) {
          Thread.sleep(10);
        }
        if (end.equals("kill")) {
          Thread.sleep(new Random(SEED + run).nextInt(500));
          process.destroyForcibly();
        }
        int code = process.waitFor();
        assertEquals(end.equals("kill") ? 128 + 9 : Soak.ENDED, code, end + ", run " + run + ": " + output());
        checkWithTheStockJar(stores);
      }
    }
    try (Stream<Path> files = Files.list(folder.resolve("tmp"))) {
      List<String> ours =
          files.map(file -> file.getFileName().toString()).filter(name -> name.startsWith("springbloom")).collect(Collectors.toList());
      assertEquals(List.of(), ours, "a process left files behind");
    }
  }
}
