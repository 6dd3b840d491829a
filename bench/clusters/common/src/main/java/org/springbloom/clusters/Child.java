package org.springbloom.clusters;

import com.fasterxml.jackson.core.type.TypeReference;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process of the cluster: a JVM with a class that calls {@link Commands#serve}. It ends with this process at the latest. */
public final class Child implements AutoCloseable {
  private static final int LOG_LINES = 30;

  /** Of Java: runs are short, and its second compiler and parallel collectors would take the processors from them. */
  private static final List<String> FRUGAL = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

  private final String name;
  private final Path log;
  private final Process process;
  private final BufferedWriter commands;
  private final BufferedReader answers;

  private Child(String name, Path log, Process process) {
    this.name = name;
    this.log = log;
    this.process = process;
    this.commands = new BufferedWriter(process.outputWriter(StandardCharsets.UTF_8));
    this.answers = process.inputReader(StandardCharsets.UTF_8);
  }

  /**
   * Returns when the process is ready. What it logs goes to a file in the folder.
   *
   * @param heap of Java, as its option says it
   * @param arguments which the program gets as JSON
   */
  public static Child start(String name, Path folder, String heap, Class<?> program, Object arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(FRUGAL);
    command.addAll(List.of("-Xmx" + heap, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Djava.io.tmpdir=" + folder));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName(), Json.write(arguments)));
    Path log = folder.resolve(name + ".log");
    Child child;
    try {
      Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
      Cleanup.add(() -> end(process));
      child = new Child(name, log, process);
    } catch (IOException error) {
      throw new IllegalStateException("cannot start a process: " + command.get(0), error);
    }
    child.answer("start");
    return child;
  }

  /** Sends a command and waits for what the process answers. */
  public <T> T ask(String command, TypeReference<T> type) {
    return Json.read(send(command), type);
  }

  /** Sends a command and waits until it is carried out. */
  public String send(String command) {
    try {
      commands.write(command + "\n");
      commands.flush();
    } catch (IOException error) {
      throw failed(command);
    }
    return answer(command);
  }

  private String answer(String command) {
    try {
      // A library may print lines of its own.
      for (String line = answers.readLine(); line != null && !line.equals(Commands.FAILED); line = answers.readLine()) {
        if (line.startsWith(Commands.DONE)) {
          return line.substring(Commands.DONE.length());
        }
      }
    } catch (IOException error) {
      // What follows tells more.
    }
    throw failed(command);
  }

  private IllegalStateException failed(String command) {
    String end = "";
    try {
      List<String> lines = Files.readAllLines(log);
      end = String.join("\n", lines.subList(Math.max(0, lines.size() - LOG_LINES), lines.size()));
    } catch (IOException error) {
      end = "(" + error + ")";
    }
    return new IllegalStateException(name + " failed at '" + command + "'; the end of its log:\n" + end);
  }

  /** Ends it abruptly (SIGKILL). */
  public void kill() {
    end(process);
  }

  private static void end(Process process) {
    process.destroyForcibly();
    boolean isInterrupted = false;
    while (process.isAlive()) {
      try {
        process.waitFor(1, TimeUnit.SECONDS);
      } catch (InterruptedException error) {
        isInterrupted = true;
      }
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Lets it end by itself. */
  @Override
  public void close() {
    send("stop");
    kill();
  }
}
