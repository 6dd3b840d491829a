package org.springbloom.clusters.kafka;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.AppInfoParser;
import org.springbloom.clusters.Cleanup;
import org.springbloom.clusters.Environment;
import org.springbloom.clusters.Machine;
import org.springbloom.clusters.Program;
import org.springbloom.clusters.Progress;
import org.springbloom.clusters.Report;
import org.springbloom.clusters.Settings;
import org.springbloom.clusters.Trial;

/** {@code make kafka}: a broker, and an application of Kafka Streams for each kind of filters. */
public final class KafkaComparison {
  static final int INSTANCES = 2;

  private KafkaComparison() {}

  public static void main(String[] arguments) {
    System.exit(Program.run("kafka", List.of(arguments), new Environment(System.getenv()), KafkaComparison::run));
  }

  static Report run(Environment environment, Progress progress) throws Exception {
    // As much as Bloom filters take.
    Settings settings = Settings.of(environment, new Settings.Defaults(INSTANCES, 10, "1MiB"));
    Path folder = Cleanup.temporaryFolder(environment, "kafka");
    Trial trial = new Trial(settings.rounds(), progress);
    progress.say("starts a broker");
    BrokerProcess.Broker broker = BrokerProcess.start(folder);
    try (Client client = new Client(broker.bootstrap())) {
      List<Trial.Subject> subjects = new ArrayList<>();
      for (var filters : settings.filters()) {
        subjects.add(new KafkaSubject(client, broker.bootstrap(), folder, filters, settings));
      }
      trial.run(subjects);
    }
    broker.process().kill();
    Cleanup.delete(folder);
    return new Report(
        "Kafka Streams " + AppInfoParser.getVersion() + ", " + INSTANCES + " instances",
        Machine.here(environment),
        settings.byName(),
        List.of("All orders have their answer once, of all ids one event passed, and all stores hold what they must."),
        trial.recoveries(),
        trial.rows());
  }
}
