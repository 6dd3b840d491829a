package org.springbloom.clusters;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What Linux tells of this process.
 *
 * @param readBytes that the process had read from a device
 * @param residentBytes of memory
 */
public record ProcessUsage(long readBytes, long residentBytes) {
  public static ProcessUsage now() throws IOException {
    return new ProcessUsage(field("/proc/self/io", "read_bytes:"), field("/proc/self/status", "VmRSS:") * 1024);
  }

  private static long field(String file, String name) throws IOException {
    return Files.readAllLines(Path.of(file)).stream()
        .filter(line -> line.startsWith(name))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
        .findFirst()
        .orElseThrow(() -> new IOException(file + " has no " + name));
  }
}
