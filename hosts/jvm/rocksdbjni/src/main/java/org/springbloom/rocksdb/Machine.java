package org.springbloom.rocksdb;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** What the native libraries need of the machine. */
final class Machine {
  private static final Path MAPS = Paths.get("/proc/self/maps");
  private static final Path PROCESSORS = Paths.get("/proc/cpuinfo");

  private Machine() {}

  static void check() {
    String problem =
        problemOf(System.getProperty("os.name"), System.getProperty("os.arch"), readOrNothing(PROCESSORS), mappedFiles());
    if (problem != null) {
      throw new SpringbloomException(problem);
    }
  }

  /** Null if there is none. */
  static String problemOf(String system, String architecture, String processors, Set<String> mappedFiles) {
    String needed = "; the native libraries are for Linux on x86-64 with glibc 2.34 or newer and AVX2";
    if (!system.equals("Linux")) {
      return "this is " + system + needed;
    }
    if (!architecture.equals("amd64") && !architecture.equals("x86_64")) {
      return "this processor is " + architecture + needed;
    }
    if (mappedFiles.stream().anyMatch(file -> file.substring(file.lastIndexOf('/') + 1).startsWith("ld-musl"))) {
      return "this system has musl (as Alpine Linux has)" + needed;
    }
    // Nothing to read: a sandbox may hide it, and the library is tried.
    if (!processors.isEmpty() && !processors.matches("(?s).*\\bavx2\\b.*")) {
      return "this processor has no AVX2" + needed;
    }
    return null;
  }

  /** Files that are mapped into this process. */
  static Set<String> mappedFiles() {
    return readOrNothing(MAPS)
        .lines()
        .map(line -> line.split("\\s+", 6))
        .filter(fields -> fields.length == 6 && fields[5].startsWith("/"))
        .map(fields -> fields[5])
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String readOrNothing(Path file) {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    } catch (IOException error) {
      return "";
    }
  }
}
