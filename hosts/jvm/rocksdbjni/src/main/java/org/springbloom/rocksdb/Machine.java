package org.springbloom.rocksdb;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;

/** What the native libraries need of the machine. */
final class Machine {
  private static final Path PROCESSORS = Paths.get("/proc/cpuinfo");

  private Machine() {}

  static void check() {
    String problem =
        problemOf(System.getProperty("os.name"), System.getProperty("os.arch"), readOrNothing(PROCESSORS), Mapping.ofThisProcess());
    if (problem != null) {
      throw new SpringbloomException(problem);
    }
  }

  /** Null if there is none. */
  static String problemOf(String system, String architecture, String processors, List<Mapping> mappings) {
    String needed = "; the native libraries are for Linux on x86-64 with glibc 2.34 or newer and AVX2";
    if (!system.equals("Linux")) {
      return "this is " + system + needed;
    }
    if (!architecture.equals("amd64") && !architecture.equals("x86_64")) {
      return "this processor is " + architecture + needed;
    }
    if (mappings.stream().anyMatch(mapping -> mapping.fileName().startsWith("ld-musl"))) {
      return "this system has musl (as Alpine Linux has)" + needed;
    }
    // Nothing to read: a sandbox may hide it, and the library is tried.
    if (!processors.isEmpty() && !processors.matches("(?s).*\\bavx2\\b.*")) {
      return "this processor has no AVX2" + needed;
    }
    return null;
  }

  private static String readOrNothing(Path file) {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    } catch (IOException error) {
      return "";
    }
  }
}
