package org.springbloom.clusters;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What a measurement was made on.
 *
 * @param commit of the sources, which the script that starts the program finds out
 */
public record Machine(String cpu, int cores, long memoryBytes, String kernel, String java, String commit) {
  /** What cannot be read is called unknown. */
  public static Machine here(Environment environment) {
    return new Machine(
        field("/proc/cpuinfo", "model name"),
        Runtime.getRuntime().availableProcessors(),
        Long.parseLong("0" + field("/proc/meminfo", "MemTotal").replaceAll("\\D", "")) * 1024,
        System.getProperty("os.version"),
        System.getProperty("java.version"),
        environment.text("SPRINGBLOOM_COMMIT", "unknown"));
  }

  private static String field(String file, String name) {
    try {
      return Files.readAllLines(Path.of(file)).stream()
          .filter(line -> line.startsWith(name))
          .map(line -> line.substring(line.indexOf(':') + 1).trim())
          .findFirst()
          .orElse("unknown");
    } catch (IOException error) {
      return "unknown";
    }
  }

  @Override
  public String toString() {
    return String.format("%s, %d cores, %.0f GiB, Linux %s, Java %s", cpu, cores, memoryBytes / 0x1p30, kernel, java);
  }
}
