package org.springbloom.clusters;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EnvironmentTest {
  private final Environment environment =
      new Environment(
          Map.of("KEYS", "12", "EMPTY", "", "WORD", "many", "SIZE", "3MiB", "WRONG_SIZE", "3MB", "FILTERS", "springbloom, bloom"));

  @Test
  void valuesAndDefaults() {
    assertEquals(12, environment.number("KEYS", 1, 1, 12));
    assertEquals(7, environment.number("EMPTY", 7, 1, 12));
    assertEquals(3 << 20, environment.bytes("SIZE", "1", 1, 1 << 30));
    assertEquals(List.of(Filters.SPRINGBLOOM, Filters.BLOOM), environment.some("FILTERS", Filters.values()));
    assertEquals(List.of(Filters.values()), environment.some("EMPTY", Filters.values()));
    assertEquals(Workload.Hot.TOGETHER, environment.one("EMPTY", Workload.Hot.TOGETHER, Workload.Hot.values()));
  }

  @Test
  void wrongValuesAreNamed() {
    assertRefused("WORD: expected a whole number from 1 to 12, got 'many'", () -> environment.number("WORD", 1, 1, 12));
    assertRefused("KEYS: expected a whole number from 13 to 14, got '12'", () -> environment.number("KEYS", 13, 13, 14));
    assertRefused(
        "WRONG_SIZE: expected bytes from 1 to 9, such as 64MiB, got '3MB'", () -> environment.bytes("WRONG_SIZE", "1", 1, 9));
    assertRefused(
        "WORD: expected some of bloom, cached, partitioned, springbloom, got 'many'", () -> environment.some("WORD", Filters.values()));
    assertRefused(
        "WORD: expected one of together, scattered, got 'many'",
        () -> environment.one("WORD", Workload.Hot.TOGETHER, Workload.Hot.values()));
  }

  private static void assertRefused(String message, Runnable reading) {
    assertEquals(message, assertThrows(BadSettingException.class, reading::run).getMessage());
  }
}
