package org.springbloom.rocksdb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

/** The file of RocksDB's JNI library goes away after RocksJava has loaded it. */
class DeletedLibraryTest {
  private static final int KEYS = 20_000;

  @TempDir Path folder;

  /** What the processes of the test do: what becomes of the file, and a folder for a database. */
  public static final class Program {
    private Program() {}

    public static void main(String[] arguments) throws Exception {
      RocksDB.loadLibrary();
      Path file = Paths.get(LoadedRocksDB.among(Mapping.ofThisProcess()).file);
      byte[] content = Files.readAllBytes(file);
      if (!arguments[0].equals("kept")) {
        Files.delete(file);
      }
      if (arguments[0].equals("replaced")) {
        Files.write(file, content);
      }
      try (Options options = Stores.options(new SpringbloomTableConfig(Stores.AMPLE));
          RocksDB database = Stores.open(options, Paths.get(arguments[1]))) {
        Stores.fill(database, KEYS);
        Stores.check(database, KEYS);
        Stores.waitIdle();
        assertTrue(Springbloom.stats().residentUnits() > 0);
      }
      // Not loaded for a second time.
      LoadedRocksDB.among(Mapping.ofThisProcess());
      System.out.println("used with " + file);
    }
  }

  private void run(String what, Path temporary) throws Exception {
    Path output = folder.resolve("output");
    String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    ProcessBuilder builder =
        new ProcessBuilder(
                Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xcheck:jni",
                "-Djava.io.tmpdir=" + Files.createDirectories(temporary),
                "-cp",
                classPath,
                Program.class.getName(),
                what,
                folder.resolve(what).toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    builder.environment().put("LC_ALL", "C.UTF-8");
    assertEquals(0, builder.start().waitFor(), Files.readString(output));
    assertTrue(Files.readString(output).contains("used with " + temporary), Files.readString(output));
  }

  @Test
  void aFileThatStaysIsUsed() throws Exception {
    run("kept", folder.resolve("a $folder, \u00e4 and \uD83D\uDE00"));
  }

  @Test
  void aFileThatWasDeletedIsNotNeeded() throws Exception {
    run("deleted", folder.resolve("a $folder, \u00e4 and \uD83D\uDE00"));
  }

  @Test
  void aFileThatHasTakenTheDeletedOnesPathIsNotUsed() throws Exception {
    run("replaced", folder.resolve("temporary"));
  }

  /** Mappings of the library, with another path, under which there is no file. */
  private static LoadedRocksDB deleted() throws Exception {
    RocksDB.loadLibrary();
    String maps = Files.readString(Paths.get("/proc/self/maps"));
    String ours = maps.lines().filter(line -> line.contains("/librocksdbjni")).collect(Collectors.joining("\n"));
    return LoadedRocksDB.among(Mapping.in(ours.replaceAll(" /.*", " /gone/librocksdbjni.so (deleted)")));
  }

  @Test
  void withoutItsFileALibraryIsToldByItsCode() throws Exception {
    Map<String, String> known = LoadedRocksDB.known();
    assertEquals(System.getProperty("release"), deleted().release(known));
    byte[] library;
    try (InputStream content = RocksDB.class.getResourceAsStream("/librocksdbjni-linux64.so")) {
      library = content.readAllBytes();
    }
    // In the middle of the code, in all releases.
    library[library.length / 2] ^= 1;
    String message =
        assertThrows(SpringbloomException.class, () -> deleted().releaseWithoutTheFile(new ByteArrayInputStream(library), known))
            .getMessage();
    assertTrue(message.contains("/gone/librocksdbjni.so, and the library in RocksDB's jar is another one; call Spring"), message);
    for (byte[] none : List.of(new byte[0], new byte[100])) {
      assertThrows(SpringbloomException.class, () -> deleted().releaseWithoutTheFile(new ByteArrayInputStream(none), known));
    }
    message = assertThrows(SpringbloomException.class, () -> deleted().releaseWithoutTheFile(null, known)).getMessage();
    assertTrue(message.contains("has no librocksdbjni-linux64.so; call Springbloom.stats() once before"), message);
  }

  @Test
  void aPathThatIsTooLongIsRefused() {
    byte[] library = ("x\0" + "./".repeat(100) + "y\0z").getBytes(StandardCharsets.US_ASCII);
    byte[] bound = NativeLibrary.boundTo("/a", library);
    assertEquals("x\0/a" + "\0".repeat(199) + "\0z", new String(bound, StandardCharsets.US_ASCII));
    String tooLong = "/" + "a".repeat(201);
    String message = assertThrows(SpringbloomException.class, () -> NativeLibrary.boundTo(tooLong, library)).getMessage();
    assertTrue(message.contains("has 202 bytes, expected at most 201: /aaa"), message);
  }
}
