package org.springbloom.clusters;

/** Lines that tell what happens, on the error output. */
public final class Progress {
  private final String program;
  private final long begin = System.nanoTime();

  public Progress(String program) {
    this.program = program;
  }

  /** Prints a line. */
  public void say(String what) {
    System.err.printf("%s: %4d s  %s%n", program, seconds(), what);
  }

  private long seconds() {
    return (System.nanoTime() - begin) / 1_000_000_000;
  }
}
