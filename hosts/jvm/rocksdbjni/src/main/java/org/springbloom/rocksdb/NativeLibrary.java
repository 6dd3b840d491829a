package org.springbloom.rocksdb;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Loads the native library that fits RocksDB's JNI library, which this process has loaded before.
 *
 * <p>The library names {@value #NEEDED} as the one that it needs, and is loaded from a folder with a symbolic link of that name to the file
 * that is loaded already. The dynamic linker sees that it is the same file. RocksDB's symbols are not made global for that: its library
 * exports those of its compression libraries too, and other libraries of the process would take them for their own.
 */
final class NativeLibrary {
  private static final String NEEDED = "librocksdbjni-linux64.so";

  private static boolean isLoaded;

  private NativeLibrary() {}

  /** Does nothing but the first time. RocksDB's library must be loaded. */
  static synchronized void load() {
    if (isLoaded) {
      return;
    }
    Machine.check();
    Path rocksDB = loadedRocksDB(Machine.mappedFiles());
    String release = releaseOf(rocksDB, known());
    link("libspringbloom-" + release + ".so", rocksDB);
    isLoaded = true;
    ManagementBean.register();
  }

  /** RocksDB's JNI library among the files that are mapped into the process. */
  static Path loadedRocksDB(Set<String> mappedFiles) {
    List<String> found =
        mappedFiles.stream()
            .filter(file -> file.substring(file.lastIndexOf('/') + 1).matches("librocksdbjni.*\\.so( \\(deleted\\))?"))
            .collect(Collectors.toList());
    if (found.isEmpty()) {
      throw new SpringbloomException("RocksDB's JNI library is not loaded; call RocksDB.loadLibrary() first");
    }
    if (found.size() > 1) {
      throw new SpringbloomException(
          "this process has loaded several JNI libraries of RocksDB, and only one can be used: " + String.join(", ", found));
    }
    if (found.get(0).endsWith(" (deleted)")) {
      throw new SpringbloomException("the file of RocksDB's JNI library was deleted after it was loaded: " + found.get(0));
    }
    return Paths.get(found.get(0));
  }

  /** The release of a JNI library, by its SHA-256. */
  static String releaseOf(Path rocksDB, Map<String, String> known) {
    String sum;
    try {
      sum = sha256(rocksDB);
    } catch (IOException error) {
      throw new SpringbloomException("cannot read RocksDB's JNI library " + rocksDB, error);
    }
    String release = known.get(sum);
    if (release == null) {
      throw new SpringbloomException(
          "does not know the JNI library of RocksDB that this process has loaded, "
              + rocksDB
              + " (SHA-256 "
              + sum
              + "); known are those for Linux on x86-64 with glibc of "
              + known.values().stream().sorted().map(NativeLibrary::artifactOf).collect(Collectors.joining(", "))
              + "; use the jar of one of these");
    }
    return release;
  }

  private static String artifactOf(String release) {
    return (release.equals("8.10.0") ? "frocksdbjni " : "rocksdbjni ") + release;
  }

  /** Releases by the SHA-256 of their JNI libraries: those that native libraries were built for. */
  static Map<String, String> known() {
    Properties properties = new Properties();
    try (InputStream file = NativeLibrary.class.getResourceAsStream("known.properties")) {
      if (file == null) {
        throw new SpringbloomException("the jar has no native libraries");
      }
      properties.load(file);
    } catch (IOException error) {
      throw new SpringbloomException("cannot read the list of known JNI libraries in the jar", error);
    }
    return properties.stringPropertyNames().stream().collect(Collectors.toMap(sum -> sum, properties::getProperty));
  }

  /** Leaves no file behind: what is loaded needs none any more. */
  private static void link(String library, Path rocksDB) {
    Path folder = null;
    try (InputStream content = NativeLibrary.class.getResourceAsStream(library)) {
      if (content == null) {
        throw new SpringbloomException("the jar has no " + library);
      }
      folder = Files.createTempDirectory("springbloom");
      Files.createSymbolicLink(folder.resolve(NEEDED), rocksDB);
      Files.copy(content, folder.resolve(library));
      System.load(folder.resolve(library).toAbsolutePath().toString());
    } catch (IOException | UnsatisfiedLinkError error) {
      throw new SpringbloomException(problemOf(folder, error), error);
    } finally {
      if (folder != null) {
        for (Path file : List.of(folder.resolve(NEEDED), folder.resolve(library), folder)) {
          deleteIfThere(file);
        }
      }
    }
  }

  /** Why the library could not be written, or written and not be loaded. */
  static String problemOf(Path folder, Throwable error) {
    String temporary = "java.io.tmpdir (" + System.getProperty("java.io.tmpdir") + ")";
    if (folder == null) {
      return "cannot make a folder for its native library in "
          + temporary
          + ": "
          + reasonOf(error)
          + "; set java.io.tmpdir to a folder that can be written to";
    }
    if (error instanceof IOException) {
      return "cannot write its native library into " + folder + ": " + reasonOf(error) + "; set java.io.tmpdir to a folder with room";
    }
    return "cannot load its native library from "
        + folder
        + " (the file system may forbid programs: set java.io.tmpdir to another folder): "
        + error.getMessage();
  }

  /** The JDK tells some reasons by the class of the exception, and has no text for them. */
  private static String reasonOf(Throwable error) {
    if (error instanceof AccessDeniedException) {
      return "permission denied";
    }
    if (error instanceof NoSuchFileException) {
      return "there is no such folder";
    }
    String reason = error instanceof FileSystemException ? ((FileSystemException) error).getReason() : null;
    return reason == null ? error.getMessage() : reason;
  }

  private static void deleteIfThere(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException ignored) {
      file.toFile().deleteOnExit();
    }
  }

  private static String sha256(Path file) throws IOException {
    MessageDigest digest;
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException("every JVM has SHA-256", error);
    }
    try (InputStream content = Files.newInputStream(file)) {
      byte[] piece = new byte[1 << 16];
      for (int size = content.read(piece); size >= 0; size = content.read(piece)) {
        digest.update(piece, 0, size);
      }
    }
    StringBuilder text = new StringBuilder();
    for (byte b : digest.digest()) {
      text.append(String.format("%02x", b));
    }
    return text.toString();
  }
}
