package org.springbloom.clusters;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Settings out of environment variables. A wrong value is a {@link BadSettingException}. */
public final class Environment {
  private static final Pattern SIZE = Pattern.compile("(\\d{1,15})(|KiB|MiB|GiB)");

  private final Map<String, String> variables;

  public Environment(Map<String, String> variables) {
    this.variables = variables;
  }

  /** A whole number. */
  public long number(String name, long otherwise, long least, long most) {
    String value = value(name, String.valueOf(otherwise));
    long number = value.matches("\\d{1,18}") ? Long.parseLong(value) : -1;
    if (number < least || number > most) {
      throw wrong(name, "a whole number from " + least + " to " + most, value);
    }
    return number;
  }

  /** A number of bytes, such as 64MiB. */
  public long bytes(String name, String otherwise, long least, long most) {
    String value = value(name, otherwise);
    Matcher matcher = SIZE.matcher(value);
    long bytes = matcher.matches() ? Long.parseLong(matcher.group(1)) * unit(matcher.group(2)) : -1;
    if (bytes < least || bytes > most) {
      throw wrong(name, "bytes from " + least + " to " + most + ", such as 64MiB", value);
    }
    return bytes;
  }

  private static long unit(String name) {
    return switch (name) {
      case "KiB" -> 1L << 10;
      case "MiB" -> 1L << 20;
      case "GiB" -> 1L << 30;
      default -> 1;
    };
  }

  /** Some of the values of an enum, in small letters, with spaces or commas between. */
  public <E extends Enum<E>> List<E> some(String name, E[] all) {
    String value = value(name, names(all, " "));
    LinkedHashSet<E> chosen = new LinkedHashSet<>();
    for (String word : value.trim().split("[ ,]+")) {
      chosen.add(
          Arrays.stream(all)
              .filter(one -> nameOf(one).equals(word))
              .findFirst()
              .orElseThrow(() -> wrong(name, "some of " + names(all, ", "), value)));
    }
    return List.copyOf(chosen);
  }

  /** A value of an enum in small letters. */
  public <E extends Enum<E>> E one(String name, E otherwise, E[] all) {
    String value = value(name, nameOf(otherwise));
    return Arrays.stream(all)
        .filter(one -> nameOf(one).equals(value))
        .findFirst()
        .orElseThrow(() -> wrong(name, "one of " + names(all, ", "), value));
  }

  /** Any text. */
  public String text(String name, String otherwise) {
    return value(name, otherwise);
  }

  private String value(String name, String otherwise) {
    String value = variables.get(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }

  private static <E extends Enum<E>> String names(E[] all, String between) {
    return Arrays.stream(all).map(Environment::nameOf).collect(Collectors.joining(between));
  }

  /** As users write it. */
  public static String nameOf(Enum<?> value) {
    return value.name().toLowerCase(java.util.Locale.ROOT);
  }

  private static BadSettingException wrong(String name, String expected, String value) {
    return new BadSettingException(name + ": expected " + expected + ", got '" + value + "'");
  }
}
