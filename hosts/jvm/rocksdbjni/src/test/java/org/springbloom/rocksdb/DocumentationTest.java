package org.springbloom.rocksdb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles and runs the program of docs/jvm.md as it is printed. */
class DocumentationTest {
  @TempDir Path folder;

  @Test
  void theDocumentedProgramRuns() throws Exception {
    String page = Files.readString(Paths.get("../../../docs/jvm.md"));
    Path source = folder.resolve("Example.java");
    Files.writeString(source, page.split("```java\n")[1].split("```")[0]);
    String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-cp", classPath, source.toString()));
    Path output = folder.resolve("output");
    String java = Paths.get(System.getProperty("java.home"), "bin", "java").toString();
    Process process =
        new ProcessBuilder(java, "-cp", folder + ":" + classPath, "Example", folder.resolve("database").toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    assertEquals(0, process.waitFor(), Files.readString(output));
    assertTrue(Files.readString(output).matches("\\d+ bytes in use\n"), Files.readString(output));
  }
}
