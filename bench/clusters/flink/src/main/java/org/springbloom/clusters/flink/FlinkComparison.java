package org.springbloom.clusters.flink;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.springbloom.clusters.Cleanup;
import org.springbloom.clusters.Environment;
import org.springbloom.clusters.Machine;
import org.springbloom.clusters.Program;
import org.springbloom.clusters.Progress;
import org.springbloom.clusters.Report;
import org.springbloom.clusters.Settings;
import org.springbloom.clusters.Trial;

/** {@code make flink}: a job in a mini cluster of its own for each kind of filters. */
public final class FlinkComparison {
  static final int SLOTS = 2;

  private FlinkComparison() {}

  public static void main(String[] arguments) {
    System.exit(Program.run("flink", List.of(arguments), new Environment(System.getenv()), FlinkComparison::run));
  }

  static Report run(Environment environment, Progress progress) throws Exception {
    // Write buffers are part of the managed memory.
    Settings settings = Settings.of(environment, new Settings.Defaults(1, 32, "128KiB"));
    long checkpointMs = environment.number("CHECKPOINT_MS", 2_000, 100, 3_600_000);
    Path folder = Cleanup.temporaryFolder(environment, "flink");
    List<Trial.Subject> subjects = new ArrayList<>();
    for (var filters : settings.filters()) {
      subjects.add(new FlinkSubject(filters, settings, checkpointMs, folder));
    }
    Trial trial = new Trial(settings.rounds(), progress);
    trial.run(subjects);
    Cleanup.delete(folder);
    var named = settings.byName();
    named.put("CHECKPOINT_MS", checkpointMs);
    return new Report(
        "Flink " + EnvironmentInformation.getVersion() + ", a mini cluster with " + SLOTS + " slots",
        Machine.here(environment),
        named,
        List.of("All orders have their answer once, and of all ids one event was new, also after the restore."),
        trial.recoveries(),
        trial.rows());
  }
}
