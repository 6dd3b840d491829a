package org.springbloom.clusters;

import java.util.List;

/** How the programs begin and end: 0, 1 for an error, 2 for a wrong setting. */
public final class Program {
  private Program() {}

  /** A comparison, which tells its progress. */
  public interface Comparison {
    Report run(Environment environment, Progress progress) throws Exception;
  }

  /** Prints the report: for people, or with {@code --json} for programs. */
  public static int run(String name, List<String> arguments, Environment environment, Comparison comparison) {
    try {
      if (!List.of("--json").containsAll(arguments)) {
        throw new BadSettingException("expected no argument but --json, got '" + String.join(" ", arguments) + "'");
      }
      Report report = comparison.run(environment, new Progress(name));
      System.out.print(arguments.isEmpty() ? report.text() : Json.writePretty(report) + "\n");
      return 0;
    } catch (BadSettingException error) {
      System.err.println(name + ": " + error.getMessage());
      return 2;
    } catch (Exception error) {
      System.err.println(name + ": " + error.getMessage());
      error.printStackTrace();
      return 1;
    }
  }
}
