package org.springbloom.rocksdb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.RocksDB;

/** Compiles and runs the programs of docs/guide-jvm.md as they are printed. */
class DocumentationTest {
  @TempDir Path folder;

  @Test
  void theDocumentedProgramRuns() throws Exception {
    String printed = outputOf("Example", block(1));
    assertTrue(printed.matches("\\d+ bytes in use\n"), printed);
  }

  @Test
  void theDocumentedServerServesTheMetrics() throws Exception {
    String client =
        "var request = java.net.http.HttpRequest.newBuilder(java.net.URI.create(\"http://localhost:\""
            + " + server.getAddress().getPort() + \"/metrics\")).build();"
            + "var handler = java.net.http.HttpResponse.BodyHandlers.ofString();"
            + "var answer = java.net.http.HttpClient.newHttpClient().send(request, handler);"
            + "System.out.println(answer.headers().firstValue(\"Content-Type\").get() + \" \" + answer.body());"
            + "server.stop(0);";
    String source =
        "import org.rocksdb.*; import org.springbloom.rocksdb.*; public class Server { public static void main(String[] arguments)"
            + " throws Exception { RocksDB.loadLibrary(); try (Options options = new Options()) { options.setTableFormatConfig("
            + "new SpringbloomTableConfig(SpringbloomSettings.budget(\"1MiB\")));"
            // Any port that is free.
            + block(2).replace("9184", "0")
            + client
            + "} } }";
    String printed = outputOf("Server", source);
    assertTrue(printed.startsWith(Springbloom.METRICS_CONTENT_TYPE + " # HELP springbloom_budget_bytes"), printed);
    assertTrue(printed.contains("\nspringbloom_budget_bytes 1048576.0\n") && printed.endsWith("# EOF\n\n"), printed);
  }

  /** Each row of the table of settings, with its default as the value. */
  @Test
  void everyDocumentedSettingIsAProperty() throws Exception {
    RocksDB.loadLibrary();
    List<String> names = new ArrayList<>();
    String table = Files.readString(Paths.get("../../../docs/guide.md")).split("\\| setting \\|", 2)[1].split("\n\n", 2)[0];
    for (String row : table.split("\n")) {
      String[] cells = row.split(" *\\| *");
      if (cells.length < 4 || !cells[1].startsWith("`")) {
        continue;
      }
      String name = cells[1].replace("`", "");
      Map<String, String> properties = new HashMap<>();
      properties.put("springbloom." + name, cells[3].startsWith("the number of") ? "1000" : cells[3]);
      Stores.options(new SpringbloomTableConfig(SpringbloomSettings.of(properties))).close();
      names.add(name);
    }
    SpringbloomSettings unknown = SpringbloomSettings.defaults().with("colour", "green");
    Throwable error =
        assertThrows(IllegalArgumentException.class, () -> Stores.options(new SpringbloomTableConfig(unknown)).close());
    assertEquals(List.of(error.getMessage().split("expected one of ")[1].split(", ")), names);
  }

  /** A program of the page, the first one with the number 1. */
  private static String block(int number) throws Exception {
    return Files.readString(Paths.get("../../../docs/guide-jvm.md")).split("```java\n")[number].split("```")[0];
  }

  /** Compiles a class, and runs it with a folder for a database. */
  private String outputOf(String name, String program) throws Exception {
    Path source = folder.resolve(name + ".java");
    Files.writeString(source, program);
    String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-cp", classPath, source.toString()));
    Path output = folder.resolve("output");
    String java = Paths.get(System.getProperty("java.home"), "bin", "java").toString();
    Process process =
        new ProcessBuilder(java, "-cp", folder + ":" + classPath, name, folder.resolve("database").toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    assertEquals(0, process.waitFor(), Files.readString(output));
    return Files.readString(output);
  }
}
