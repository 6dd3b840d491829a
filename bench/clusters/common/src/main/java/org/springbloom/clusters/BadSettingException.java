package org.springbloom.clusters;

/** A setting of the user is wrong; the message names it, and what is expected. */
public final class BadSettingException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public BadSettingException(String message) {
    super(message);
  }
}
