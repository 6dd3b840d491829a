package org.springbloom.rocksdb;

/** Springbloom cannot run in this process; the message says why and what would help. No store was touched. */
public final class SpringbloomException extends RuntimeException {
  private static final long serialVersionUID = 1;

  SpringbloomException(String message) {
    super("Springbloom: " + message);
  }

  SpringbloomException(String message, Throwable cause) {
    super("Springbloom: " + message, cause);
  }
}
