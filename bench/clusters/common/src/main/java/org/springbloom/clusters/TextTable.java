package org.springbloom.clusters;

import java.util.ArrayList;
import java.util.List;

/** Columns as wide as their longest cell; the first one is to the left, the others to the right. */
final class TextTable {
  private final List<String[]> rows = new ArrayList<>();

  TextTable(String... headings) {
    rows.add(headings);
  }

  void add(String... cells) {
    rows.add(cells);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (String[] row : rows) {
      for (int column = 0; column < row.length; column++) {
        int width = width(column);
        text.append(column == 0 ? String.format("%-" + width + "s", row[0]) : String.format("  %" + width + "s", row[column]));
      }
      text.append('\n');
    }
    return text.toString();
  }

  private int width(int column) {
    return rows.stream().mapToInt(row -> row[column].length()).max().orElse(0);
  }
}
