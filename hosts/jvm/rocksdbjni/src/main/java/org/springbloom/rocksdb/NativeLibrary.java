package org.springbloom.rocksdb;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Loads the native library that fits RocksDB's JNI library, which this process has loaded before.
 *
 * <p>The library needs the JNI library, under a path that is written into it before it is loaded: the one that the JNI library was loaded
 * from. The dynamic linker finds what is loaded by that, and needs no file. RocksDB's symbols are not made global for that: its library
 * exports those of its compression libraries too, and other libraries of the process would take them for their own.
 */
final class NativeLibrary {
  /** With what the path of the needed library begins as the native libraries are built: it leaves room. See {@code CMakeLists.txt}. */
  private static final byte[] ROOM = "./".repeat(64).getBytes(StandardCharsets.US_ASCII);

  private static boolean isLoaded;

  private NativeLibrary() {}

  /** Does nothing but the first time. RocksDB's library must be loaded. */
  static synchronized void load() {
    if (isLoaded) {
      return;
    }
    Machine.check();
    LoadedRocksDB rocksDB = LoadedRocksDB.among(Mapping.ofThisProcess());
    link("libspringbloom-" + rocksDB.release(LoadedRocksDB.known()) + ".so", rocksDB.file);
    isLoaded = true;
    ManagementBean.register();
  }

  /** Leaves no file behind: what is loaded needs none any more. */
  private static void link(String library, String rocksDB) {
    Path folder = null;
    try (InputStream content = NativeLibrary.class.getResourceAsStream(library)) {
      if (content == null) {
        throw new SpringbloomException("the jar has no " + library);
      }
      byte[] bound = boundTo(rocksDB, content.readAllBytes());
      folder = Files.createTempDirectory("springbloom");
      Files.write(folder.resolve(library), bound);
      System.load(folder.resolve(library).toAbsolutePath().toString());
    } catch (IOException | UnsatisfiedLinkError error) {
      throw new SpringbloomException(problemOf(folder, rocksDB, error), error);
    } finally {
      if (folder != null) {
        for (Path file : List.of(folder.resolve(library), folder)) {
          deleteIfThere(file);
        }
      }
    }
  }

  /** A native library that needs the JNI library with a path. */
  static byte[] boundTo(String rocksDB, byte[] library) {
    int start = 0;
    while (!Arrays.equals(library, start, start + ROOM.length, ROOM, 0, ROOM.length)) {
      start++;
    }
    int end = start;
    while (library[end] != 0) {
      end++;
    }
    byte[] path = rocksDB.getBytes(StandardCharsets.UTF_8);
    if (path.length > end - start) {
      throw new SpringbloomException(
          "the path of RocksDB's JNI library has " + path.length + " bytes, expected at most " + (end - start) + ": " + rocksDB);
    }
    byte[] bound = library.clone();
    Arrays.fill(bound, start, end, (byte) 0);
    System.arraycopy(path, 0, bound, start, path.length);
    return bound;
  }

  /** Why the library could not be written, or written and not be loaded. */
  static String problemOf(Path folder, String rocksDB, Throwable error) {
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
    if (error.getMessage().contains(": " + rocksDB + ": ")) {
      return "cannot find the JNI library that RocksDB has loaded by its path: "
          + error.getMessage()
          + "; if the file was deleted, "
          + LoadedRocksDB.BEFORE_IT_IS_DELETED;
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
}
