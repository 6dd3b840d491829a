package org.springbloom.rocksdb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

class RefusalsTest {
  @TempDir Path folder;

  /** Keeps the messages of a logger. */
  private static final class Warnings extends Handler {
    private final List<String> messages;

    Warnings(List<String> messages) {
      this.messages = messages;
    }

    @Override
    public void publish(LogRecord record) {
      messages.add(record.getMessage());
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  private static void assertSays(Throwable error, String... parts) {
    for (String part : parts) {
      assertTrue(error.getMessage().contains(part), error.getMessage() + " does not say " + part);
    }
  }

  @Test
  void wrongSettingsAreRefusedByNameBeforeAStoreIsOpened() {
    Map<String, String[]> wrong =
        Map.of(
            "springbloom.budget", new String[] {"lots", "springbloom.budget: got lots, expected bytes"},
            "springbloom.colour", new String[] {"green", "springbloom.colour: unknown setting, expected one of budget"},
            "springbloom.units", new String[] {"ribbon:0", "springbloom.units: got ribbon:0"},
            "springbloom.segment_size", new String[] {" ", "springbloom.segment_size: got nothing, expected bytes"});
    wrong.forEach(
        (name, value) -> {
          SpringbloomSettings settings = SpringbloomSettings.of(Map.of(name, value[0], "other.property", 1));
          Throwable error =
              assertThrows(
                  IllegalArgumentException.class, () -> Stores.options(new SpringbloomTableConfig(settings)).close());
          assertSays(error, value[1]);
        });
    assertTrue(folder.toFile().list().length == 0);
  }

  @Test
  void settingsWithoutAValueAreRefusedByName() {
    Map<String, Object> properties = new HashMap<>();
    properties.put("springbloom.budget", null);
    properties.put(null, "nobody's");
    for (SpringbloomSettings settings :
        List.of(
            SpringbloomSettings.of(properties),
            SpringbloomSettings.of(Map.of("springbloom.budget", new Textless())),
            SpringbloomSettings.budget(null),
            SpringbloomSettings.budget(""))) {
      Throwable error =
          assertThrows(IllegalArgumentException.class, () -> Stores.options(new SpringbloomTableConfig(settings)).close());
      assertSays(error, "springbloom.budget: got nothing, expected bytes, such as 64M");
    }
  }

  @Test
  void whatIsNullIsRefusedByName() throws Exception {
    try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
        RocksDB database = Stores.open(options, folder)) {
      BlockBasedTableConfig stock = new BlockBasedTableConfig();
      ColumnFamilyHandle family = database.getDefaultColumnFamily();
      Map<String, Executable> calls = new LinkedHashMap<>();
      calls.put("the properties are null", () -> SpringbloomSettings.of(null));
      calls.put("the name of a setting is null", () -> Stores.AMPLE.with(null, "1"));
      calls.put("the settings are null", () -> new SpringbloomTableConfig(null));
      calls.put("the options of the block-based format are null", () -> new SpringbloomTableConfig(Stores.AMPLE, null));
      calls.put("the timeout is null", () -> Springbloom.waitIdle(null));
      calls.put("the database is null", () -> Springbloom.status(null, family));
      calls.put("the handle of the column family is null", () -> Springbloom.status(database, null));
      calls.forEach(
          (message, call) -> assertEquals("springbloom: " + message, assertThrows(NullPointerException.class, call).getMessage()));
      String noOptions = "springbloom: the options of the block-based format are null";
      for (Executable call :
          List.<Executable>of(
              () -> TableFormat.copyOptions(null, stock),
              () -> TableFormat.copyOptions(stock, null),
              () -> TableFormat.blockCacheOf(null))) {
        assertEquals(noOptions, assertThrows(NullPointerException.class, call).getMessage());
      }
    }
  }

  /** Of a property whose text is null. */
  private static final class Textless {
    @Override
    public String toString() {
      return null;
    }
  }

  @Test
  void settingsCrossAsTheyAreWritten() throws Exception {
    Map<String, String> wrong = Map.of("64M\0x", "64M\\0x", "64\uD83D\uDE00", "64\uD83D\uDE00", "64mb", "64mb", "\u00e4", "\u00e4");
    wrong.forEach(
        (budget, shown) -> {
          SpringbloomTableConfig config = new SpringbloomTableConfig(SpringbloomSettings.budget(budget));
          Throwable error = assertThrows(IllegalArgumentException.class, () -> Stores.options(config).close());
          assertSays(error, "springbloom.budget: got " + shown + ", expected bytes, such as 64M");
        });
  }

  @Test
  void whyTheNativeLibraryIsNotThereIsTold() {
    Path folder = Paths.get("/tmp/springbloom1");
    String jni = "/tmp/librocksdbjni1.so";
    String full = NativeLibrary.problemOf(folder, jni, new FileSystemException("/tmp/springbloom1/x.so", null, "No space left on device"));
    assertTrue(full.contains("into /tmp/springbloom1: No space left on device; set java.io.tmpdir"), full);
    String missing = NativeLibrary.problemOf(null, jni, new NoSuchFileException("/gone/springbloom1"));
    assertTrue(missing.contains("java.io.tmpdir (") && missing.contains("): there is no such folder; set java.io.tmpdir"), missing);
    String denied = NativeLibrary.problemOf(null, jni, new AccessDeniedException("/others/springbloom1"));
    assertTrue(denied.contains("java.io.tmpdir (") && denied.contains("): permission denied; set java.io.tmpdir"), denied);
    String forbidden = NativeLibrary.problemOf(folder, jni, new UnsatisfiedLinkError("failed to map segment"));
    assertTrue(forbidden.contains("may forbid programs") && forbidden.endsWith("failed to map segment"), forbidden);
    UnsatisfiedLinkError gone = new UnsatisfiedLinkError("/tmp/springbloom1/x.so: " + jni + ": cannot open shared object file");
    String deleted = NativeLibrary.problemOf(folder, jni, gone);
    assertTrue(deleted.contains(jni) && deleted.endsWith("right after RocksDB.loadLibrary()"), deleted);
    assertFalse(deleted.contains("may forbid programs"), deleted);
  }

  @Test
  void openStoresAgreeInWhatTheyShare() throws Exception {
    try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
        RocksDB database = Stores.open(options, folder)) {
      SpringbloomSettings other = Stores.AMPLE.with("inherit_hotness", "false");
      Throwable error =
          assertThrows(IllegalArgumentException.class, () -> Stores.options(new SpringbloomTableConfig(other)).close());
      assertSays(error, "springbloom.inherit_hotness: got false", "share true");
      Stores.fill(database, 100);
      Stores.check(database, 100);
    }
  }

  @Test
  void aClosedHandleIsRefused() throws Exception {
    try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
        RocksDB database = Stores.open(options, folder)) {
      ColumnFamilyHandle family = database.createColumnFamily(new ColumnFamilyDescriptor("closed".getBytes(StandardCharsets.UTF_8)));
      Springbloom.status(database, family);
      family.close();
      assertSays(
          assertThrows(IllegalStateException.class, () -> Springbloom.status(database, family)),
          "springbloom: the handle of the column family is closed");
      Springbloom.status(database, database.getDefaultColumnFamily());
      assertTrue(Springbloom.waitIdle(Duration.ofSeconds(Long.MAX_VALUE)));
    }
  }

  @Test
  void zeroIsZeroInEveryUnit() {
    for (String none : List.of("0", "00", "0K", "0m", "0MiB", "0TiB")) {
      assertTrue(SpringbloomSettings.budget(none).asksForNoBudget(), none);
    }
    for (String some : List.of("1", "10", "100M", "10MiB", "", "0X", "0iB")) {
      assertFalse(SpringbloomSettings.budget(some).asksForNoBudget(), some);
    }
    assertFalse(SpringbloomSettings.defaults().asksForNoBudget());
  }

  @Test
  void aBudgetOfZeroFiltersNothingAndMayGrow() throws Exception {
    List<String> warnings = new CopyOnWriteArrayList<>();
    Logger logger = Logger.getLogger(Springbloom.class.getName());
    Handler handler = new Warnings(warnings);
    logger.addHandler(handler);
    SpringbloomSettings none = SpringbloomSettings.budget("0");
    try (Options options = Stores.options(new SpringbloomTableConfig(none));
        RocksDB database = Stores.open(options, folder)) {
      // Not told again by the next store.
      Stores.options(new SpringbloomTableConfig(none)).close();
      logger.removeHandler(handler);
      assertEquals(List.of("Springbloom: the budget is 0 bytes, so no lookup is filtered until it grows"), warnings);
      Stores.fill(database, 20_000);
      database.compactRange();
      Stores.check(database, 1000);
      assertEquals(0, Springbloom.stats().residentUnits());
      Springbloom.setBudgetBytes(16 << 20);
      long deadline = System.nanoTime() + 60_000_000_000L;
      while (Springbloom.stats().residentUnits() == 0 && System.nanoTime() < deadline) {
        Stores.check(database, 1000);
        Thread.sleep(50);
      }
      assertTrue(Springbloom.stats().residentUnits() > 0, Springbloom.metricsText());
      assertThrows(IllegalArgumentException.class, () -> Springbloom.setBudgetBytes(-1));
      assertThrows(IllegalArgumentException.class, () -> Springbloom.wastedReadsPerLookup(-1));
      assertThrows(IllegalArgumentException.class, () -> Springbloom.setBudgetBytes(1L << 60));
      assertEquals(16 << 20, Springbloom.budgetBytes());
    }
  }

  /** Lines of {@code /proc/self/maps}: code at the address 4096. */
  private static List<Mapping> mapped(String... files) {
    return Mapping.in(
        Stream.of(files).map(file -> "1000-2000 r-xp 00000000 08:01 7      " + file + "\n").collect(Collectors.joining()));
  }

  @Test
  void anUnknownJniLibraryIsRefusedWithTheKnownOnes() throws Exception {
    Path strange = Files.write(folder.resolve("librocksdbjni-linux64.so"), new byte[] {1, 2, 3});
    Map<String, String> known = Map.of("0000", "11.8.1", "1111", "8.10.0");
    LoadedRocksDB loaded = LoadedRocksDB.among(mapped(strange.toString()));
    assertSays(
        assertThrows(SpringbloomException.class, () -> loaded.release(known)),
        strange.toString(),
        // Of the bytes 1, 2, 3.
        "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81",
        "; use the jar of one of these",
        "frocksdbjni 8.10.0",
        "rocksdbjni 11.8.1");
  }

  @Test
  void theJniLibraryIsFoundAmongTheFilesOfTheProcess() {
    List<Mapping> others = mapped("/usr/lib/jvm/lib/server/libjvm.so", "/srv/data/librocksdbjni/notes.txt");
    assertSays(assertThrows(SpringbloomException.class, () -> LoadedRocksDB.among(others)), "RocksDB.loadLibrary()");
    for (String suffix : List.of("", " (deleted)")) {
      List<Mapping> one = mapped("/tmp/a b/librocksdbjni1.so" + suffix, "/tmp/a b/librocksdbjni1.so" + suffix, "/lib/libc.so.6");
      assertEquals("/tmp/a b/librocksdbjni1.so", LoadedRocksDB.among(one).file);
    }
    List<Mapping> two = mapped("/tmp/librocksdbjni1.so", "/tmp/rocksdb-lib-a/librocksdbjni-linux64.so");
    assertSays(assertThrows(SpringbloomException.class, () -> LoadedRocksDB.among(two)), "several");
    List<Mapping> again = mapped("/tmp/librocksdbjni1.so (deleted)", "/tmp/librocksdbjni1.so");
    assertSays(assertThrows(SpringbloomException.class, () -> LoadedRocksDB.among(again)), "several", "1.so (deleted), /tmp");
  }

  @Test
  void otherMachinesAreRefusedInASentence() {
    List<Mapping> glibc = mapped("/lib/x86_64-linux-gnu/libc.so.6");
    String processors = "flags : sse4_2 avx avx2 bmi2\n";
    assertNull(Machine.problemOf("Linux", "amd64", processors, glibc));
    assertNull(Machine.problemOf("Linux", "amd64", "", glibc));
    assertTrue(Machine.problemOf("Mac OS X", "amd64", processors, glibc).contains("Mac OS X"));
    assertTrue(Machine.problemOf("Linux", "aarch64", processors, glibc).contains("aarch64"));
    assertTrue(Machine.problemOf("Linux", "amd64", "flags : sse4_2 avx\n", glibc).contains("AVX2"));
    List<Mapping> musl = mapped("/lib/ld-musl-x86_64.so.1");
    assertTrue(Machine.problemOf("Linux", "amd64", processors, musl).contains("musl"));
  }

  @Test
  void anyNameOfAColumnFamilyIsInTheMetrics() throws Exception {
    String[] names = {"a\0b", "\uD83D\uDE00", "a\rb", "a\nb", "\"\\"};
    try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
        RocksDB database = Stores.open(options, folder.resolve("names"))) {
      for (String name : names) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        try (ColumnFamilyOptions ofFamily = new ColumnFamilyOptions(options);
            ColumnFamilyHandle family = database.createColumnFamily(new ColumnFamilyDescriptor(bytes, ofFamily))) {
          database.put(family, Stores.key(1), Stores.value(1));
          try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
            database.flush(flush, family);
          }
        }
      }
      String text = Springbloom.metricsText();
      assertTrue(text.endsWith("# EOF\n"), text);
      for (String name : new String[] {"a\0b", "\uD83D\uDE00", "a\rb", "a\\nb", "\\\"\\\\"}) {
        assertTrue(text.contains("family=\"" + name + "\""), text);
      }
      assertEquals(names.length, Springbloom.stats().tables());
    }
  }
}
