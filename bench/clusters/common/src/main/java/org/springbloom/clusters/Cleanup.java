package org.springbloom.clusters;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Ends processes and removes folders when this process ends, also by a signal: what came last goes first. */
public final class Cleanup {
  private static final ArrayDeque<Runnable> STEPS = new ArrayDeque<>();

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(Cleanup::run, "cleanup"));
  }

  private Cleanup() {}

  static synchronized void add(Runnable step) {
    STEPS.push(step);
  }

  private static synchronized void run() {
    STEPS.forEach(Runnable::run);
  }

  /** A folder that goes away with this process; in TMPDIR, or /tmp. */
  public static Path temporaryFolder(Environment environment, String name) {
    Path parent = Path.of(environment.text("TMPDIR", "/tmp"));
    if (!Files.isWritable(parent) || !Files.isDirectory(parent)) {
      throw new BadSettingException("TMPDIR: expected a folder that can be written, got '" + parent + "'");
    }
    try {
      Path folder = Files.createTempDirectory(parent, "springbloom-" + name + "-");
      add(() -> delete(folder));
      return folder;
    } catch (IOException error) {
      throw new BadSettingException("TMPDIR: cannot make a folder in '" + parent + "': " + error.getMessage());
    }
  }

  /** Without complaint about what goes away meanwhile. */
  public static void delete(Path folder) {
    if (Files.notExists(folder)) {
      return;
    }
    try (Stream<Path> all = Files.walk(folder)) {
      List<Path> files = all.sorted(Comparator.reverseOrder()).toList();
      for (Path file : files) {
        Files.deleteIfExists(file);
      }
    } catch (IOException | java.io.UncheckedIOException error) {
      System.err.println("cannot remove " + folder + ": " + error.getMessage());
    }
  }
}
