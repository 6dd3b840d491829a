package org.springbloom.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code make jvm-compare}: prints stock and elastic filters. Not among the tests that run by themselves, which its name decides. */
class ComparisonRun {
  private static final int KEYS = 300_000;

  @TempDir Path folder;

  @Test
  void compare() throws Exception {
    String java = Paths.get(System.getProperty("java.home"), "bin", "java").toString();
    String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    for (long memoryBytes : new long[] {1 << 19, 1 << 20, 1 << 21}) {
      for (String mode : List.of("stock", "all-levels", "springbloom")) {
        Process process =
            new ProcessBuilder(
                    java,
                    "-Xmx256m",
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                    "-cp",
                    classPath,
                    Comparison.class.getName(),
                    mode,
                    String.valueOf(KEYS),
                    String.valueOf(memoryBytes),
                    folder.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        System.out.print(output);
        assertEquals(0, process.waitFor(), mode + ": " + output);
      }
    }
  }
}
