package org.springbloom.rocksdb;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Settings of Springbloom, which all stores of a process share. A name is that of the table of settings in the documentation, such as
 * {@code budget}; as a property of a framework it begins with {@value #PREFIX}. Values are checked when a table format takes them.
 */
public final class SpringbloomSettings {
  /** How the names of properties begin. */
  public static final String PREFIX = "springbloom.";

  private final TreeMap<String, String> values;

  private SpringbloomSettings(TreeMap<String, String> values) {
    this.values = values;
  }

  /** All settings have their defaults, or the values in force while a store of the process is open. */
  public static SpringbloomSettings defaults() {
    return new SpringbloomSettings(new TreeMap<>());
  }

  /** The memory for all filters of the process, such as {@code 64MiB}. */
  public static SpringbloomSettings budget(String budget) {
    return defaults().with("budget", budget);
  }

  /**
   * The properties whose names begin with {@value #PREFIX}. A name that no setting has, and a property without a value, are refused when a
   * table format takes them.
   */
  public static SpringbloomSettings of(Map<String, ?> properties) {
    Objects.requireNonNull(properties, "springbloom: the properties are null");
    SpringbloomSettings settings = defaults();
    properties.forEach(
        (name, value) -> {
          if (name != null && name.startsWith(PREFIX)) {
            settings.put(name.substring(PREFIX.length()), value);
          }
        });
    return settings;
  }

  /** These settings and another one; {@code name} has no prefix. Without a value it is refused when a table format takes it. */
  public SpringbloomSettings with(String name, String value) {
    Objects.requireNonNull(name, "springbloom: the name of a setting is null");
    SpringbloomSettings settings = new SpringbloomSettings(new TreeMap<>(values));
    settings.put(name, value);
    return settings;
  }

  /** What has no value, or no text, is told with the settings' names, as a wrong value is. */
  private void put(String name, Object value) {
    values.put(name, Objects.toString(Objects.toString(value, null), "").trim());
  }

  /** The budget in force may be more for a while: what open tables and living threads keep cannot go at once. */
  boolean asksForNoBudget() {
    return values.getOrDefault("budget", "").matches("0+([kKmMgGtT](iB)?)?");
  }

  /** Names that alternate with their values, as UTF-8. */
  byte[][] namesAndValues() {
    return values.entrySet().stream()
        .flatMap(entry -> Stream.of(entry.getKey(), entry.getValue()))
        .map(text -> text.getBytes(StandardCharsets.UTF_8))
        .toArray(byte[][]::new);
  }

  @Override
  public String toString() {
    return values.toString();
  }
}
