package org.springbloom.clusters.kafka;

import java.util.List;
import org.springbloom.clusters.Filters;

/** Topics of one application. */
record Topics(Filters filters) {
  String customers() {
    return filters + "-customers";
  }

  String orders() {
    return filters + "-orders";
  }

  String events() {
    return filters + "-events";
  }

  String joined() {
    return filters + "-joined";
  }

  String unique() {
    return filters + "-unique";
  }

  List<String> inputs() {
    return List.of(customers(), orders(), events());
  }

  List<String> outputs() {
    return List.of(joined(), unique());
  }

  /** The application, and its consumer group. */
  String application() {
    return filters + "-application";
  }
}
