package org.springbloom.clusters;

import java.util.Collection;

/** The median of some values, the least and the greatest. */
public record Spread(double median, double least, double greatest) {
  public static Spread of(Collection<Double> values) {
    double[] sorted = values.stream().mapToDouble(value -> value).sorted().toArray();
    int middle = sorted.length / 2;
    double median = sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return new Spread(median, sorted[0], sorted[sorted.length - 1]);
  }

  /** With a format for each number. */
  public String text(String format) {
    String exact = String.format(format, median);
    return least == greatest ? exact : exact + String.format(" (" + format + "-" + format + ")", least, greatest);
  }
}
