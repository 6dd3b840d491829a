package org.springbloom.clusters;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.Callable;

/** The other side of {@link Child}. */
public final class Commands {
  static final String DONE = "done ";
  static final String FAILED = "failed";

  private Commands() {}

  /** Carries out commands until there is no more input: then whoever started this process is gone, and so is this process. */
  public static void serve(Map<String, Callable<?>> commands) throws IOException {
    PrintStream answers = System.out;
    answers.println(DONE);
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      try {
        answers.println(DONE + Json.write(commands.get(line).call()));
      } catch (Exception error) {
        error.printStackTrace();
        answers.println(FAILED);
      }
    }
    Runtime.getRuntime().halt(1);
  }
}
