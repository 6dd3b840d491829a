package org.springbloom.rocksdb;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Paths;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.rocksdb.RocksDB;

/**
 * RocksDB's JNI library, which this process has loaded. Its file may be gone: RocksJava extracts it into a temporary folder, which Flink's
 * mini clusters, tests and cleaners delete.
 */
final class LoadedRocksDB {
  static final String BEFORE_IT_IS_DELETED = "call Springbloom.stats() once before the file is deleted, right after RocksDB.loadLibrary()";

  private static final String RESOURCE = "/librocksdbjni-linux64.so";

  /** Path of the file that it was loaded from. */
  final String file;

  private final List<Mapping> mappings;

  private LoadedRocksDB(String file, List<Mapping> mappings) {
    this.file = file;
    this.mappings = mappings;
  }

  /** The library among what is mapped into the process. */
  static LoadedRocksDB among(List<Mapping> all) {
    List<Mapping> ours =
        all.stream()
            .filter(mapping -> mapping.fileName().matches("librocksdbjni.*\\.so"))
            .collect(Collectors.toList());
    List<String> found =
        ours.stream().map(mapping -> mapping.file + (mapping.isDeleted ? " (deleted)" : "")).distinct().collect(Collectors.toList());
    if (found.isEmpty()) {
      throw new SpringbloomException("RocksDB's JNI library is not loaded; call RocksDB.loadLibrary() first");
    }
    if (found.size() > 1) {
      throw new SpringbloomException(
          "this process has loaded several JNI libraries of RocksDB, and only one can be used: " + String.join(", ", found));
    }
    return new LoadedRocksDB(ours.get(0).file, ours);
  }

  /** Releases by the SHA-256 of their JNI libraries: those that native libraries were built for. */
  static Map<String, String> known() {
    Properties properties = new Properties();
    try (InputStream file = LoadedRocksDB.class.getResourceAsStream("known.properties")) {
      if (file == null) {
        throw new SpringbloomException("the jar has no native libraries");
      }
      properties.load(file);
    } catch (IOException error) {
      throw new SpringbloomException("cannot read the list of known JNI libraries in the jar", error);
    }
    return properties.stringPropertyNames().stream().collect(Collectors.toMap(sum -> sum, properties::getProperty));
  }

  /** The release, by the SHA-256 of the file. If that is gone: of the one in RocksDB's jar, if that is the one in memory. */
  String release(Map<String, String> known) {
    // Another file may have the path of one that was deleted.
    if (mappings.stream().noneMatch(mapping -> mapping.isDeleted)) {
      try (InputStream content = Files.newInputStream(Paths.get(file))) {
        return releaseOf(content, known);
      } catch (IOException | InvalidPathException error) {
        // Deleted by now, perhaps.
      }
    }
    return releaseWithoutTheFile(RocksDB.class.getResourceAsStream(RESOURCE), known);
  }

  String releaseWithoutTheFile(InputStream inTheJar, Map<String, String> known) {
    String reason = "RocksDB's jar has no " + RESOURCE.substring(1);
    try (InputStream content = inTheJar) {
      if (content != null) {
        byte[] library = content.readAllBytes();
        if (Mapping.haveTheCodeOf(library, mappings)) {
          return releaseOf(new ByteArrayInputStream(library), known);
        }
        reason = "the library in RocksDB's jar is another one";
      }
    } catch (IOException error) {
      reason = error.getMessage();
    }
    throw new SpringbloomException(
        "cannot tell the release of RocksDB's JNI library: its file was deleted after it was loaded, or cannot be read, "
            + file
            + ", and "
            + reason
            + "; "
            + BEFORE_IT_IS_DELETED);
  }

  private String releaseOf(InputStream content, Map<String, String> known) throws IOException {
    String sum = sha256(content);
    String release = known.get(sum);
    if (release == null) {
      throw new SpringbloomException(
          "does not know the JNI library of RocksDB that this process has loaded, "
              + file
              + " (SHA-256 "
              + sum
              + "); known are those for Linux on x86-64 with glibc of "
              + known.values().stream().sorted().map(LoadedRocksDB::artifactOf).collect(Collectors.joining(", "))
              + "; use the jar of one of these");
    }
    return release;
  }

  private static String artifactOf(String release) {
    return (release.equals("8.10.0") ? "frocksdbjni " : "rocksdbjni ") + release;
  }

  private static String sha256(InputStream content) throws IOException {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      new DigestInputStream(content, digest).transferTo(OutputStream.nullOutputStream());
      return String.format("%064x", new BigInteger(1, digest.digest()));
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException("every JVM has SHA-256", error);
    }
  }
}
