package org.springbloom.clusters;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class WorkloadTest {
  private static final int KEYS = 1000;
  private static final int COUNT = 100_000;

  private final Workload workload = new Workload(5, KEYS, Workload.Hot.SCATTERED);

  @Test
  void halfOfTheOrdersAreOfCustomersThatExist() {
    long found = LongStream.range(0, COUNT).filter(order -> !workload.answerOf(order).endsWith(Workload.NOBODY)).count();
    // Six standard deviations of a binomial distribution.
    assertTrue(Math.abs(found - COUNT / 2) < 6 * Math.sqrt(COUNT / 4.0), found + " of " + COUNT);
    long popular = LongStream.range(0, COUNT).filter(order -> workload.customerOf(order) < 2 * KEYS / 8).count();
    assertTrue(Math.abs(popular - COUNT / 2) < 6 * Math.sqrt(COUNT / 4.0), popular + " of " + COUNT);
  }

  @Test
  void aNewIdIsThatOfNoOtherEvent() {
    Set<Long> fresh = new HashSet<>();
    long loaded = 0;
    for (long event = 0; event < COUNT; event++) {
      long id = workload.idOf(event);
      if (id < KEYS) {
        loaded++;
      } else {
        assertTrue(fresh.add(id), "id " + id);
      }
    }
    assertTrue(Math.abs(loaded - COUNT / 2) < 6 * Math.sqrt(COUNT / 4.0), loaded + " of " + COUNT);
  }

  @Test
  void keysDiffer() {
    Set<String> keys = new HashSet<>();
    for (long number = 0; number < COUNT; number++) {
      keys.add(workload.customerKey(number));
      keys.add(workload.idKey(number));
    }
    assertEquals(2 * COUNT, keys.size());
  }

  @Test
  void theJoinOfWhatIsLoadedIsTheAnswer() {
    for (long order = 0; order < COUNT; order++) {
      long customer = workload.customerOf(order);
      String value = customer % 2 == 0 ? workload.customerValue(customer) : null;
      assertEquals(workload.answerOf(order), Workload.answer(String.valueOf(order), value));
    }
  }

  @Test
  void eachNumberIsLoadedOnce() {
    assertEquals(KEYS, LongStream.range(0, KEYS).map(workload::loaded).distinct().filter(number -> number < KEYS).count());
  }
}
