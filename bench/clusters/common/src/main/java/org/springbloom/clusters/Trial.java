package org.springbloom.clusters;

import java.util.ArrayList;
import java.util.List;

/** All subjects one after the other load their stores and lose a process in the middle of work. Then they are measured in turns. */
public final class Trial {
  private final int rounds;
  private final Progress progress;
  private final List<Report.Recovery> recoveries = new ArrayList<>();
  private final List<Row> rows = new ArrayList<>();

  public Trial(int rounds, Progress progress) {
    this.rounds = rounds;
    this.progress = progress;
  }

  /** One kind of filters in a cluster. Each step verifies its answers. */
  public interface Subject {
    Filters filters();

    /** Starts and fills the stores. */
    void load() throws Exception;

    /** Kills a process in the middle of work and starts it again. Seconds from the kill until all is processed. */
    double loseAProcess() throws Exception;

    /** Gives Bloom filters that are outside the cache what they take, and warms the caches up. */
    void prepare() throws Exception;

    /** A row for each phase. The stores are idle before and after. */
    List<Row> measure(int round) throws Exception;

    /** Verifies what the stores hold, and ends. */
    void finish() throws Exception;
  }

  public void run(List<Subject> subjects) throws Exception {
    for (Subject subject : subjects) {
      progress.say(subject.filters() + ": loads the stores");
      subject.load();
      progress.say(subject.filters() + ": kills a process in the middle of work");
      recoveries.add(new Report.Recovery(subject.filters(), subject.loseAProcess()));
      progress.say(subject.filters() + ": warms up");
      subject.prepare();
    }
    for (int round = 1; round <= rounds; round++) {
      for (Subject subject : subjects) {
        progress.say("round " + round + " of " + rounds + ": " + subject.filters());
        rows.addAll(subject.measure(round));
      }
    }
    progress.say("verifies the stores");
    for (Subject subject : subjects) {
      subject.finish();
    }
  }

  public List<Report.Recovery> recoveries() {
    return recoveries;
  }

  public List<Row> rows() {
    return rows;
  }
}
