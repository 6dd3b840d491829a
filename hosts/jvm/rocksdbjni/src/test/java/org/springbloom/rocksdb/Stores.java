package org.springbloom.rocksdb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.CompressionType;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** Databases of tests: even numbers are keys, odd ones are absent. */
final class Stores {
  static final SpringbloomSettings AMPLE = SpringbloomSettings.budget("16MiB");

  private Stores() {}

  static byte[] key(int number) {
    return String.format("key%09d", number).getBytes(StandardCharsets.UTF_8);
  }

  static byte[] value(int number) {
    byte[] value = new byte[100];
    Arrays.fill(value, (byte) (number * 31 + 7));
    return value;
  }

  static Options options(BlockBasedTableConfig tables) {
    return new Options()
        .setCreateIfMissing(true)
        .setWriteBufferSize(1 << 20)
        .setTargetFileSizeBase(1 << 20)
        .setCompressionType(CompressionType.NO_COMPRESSION)
        .setTableFormatConfig(tables);
  }

  static RocksDB open(Options options, Path folder) throws RocksDBException {
    return RocksDB.open(options, folder.toString());
  }

  /** The keys 0, 2, ... below {@code 2 * keys}, in tables. */
  static void fill(RocksDB database, int keys) throws RocksDBException {
    for (int i = 0; i < keys; i++) {
      database.put(key(2 * i), value(2 * i));
    }
    try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
      database.flush(flush);
    }
  }

  /** Every key is found, and nothing between them. */
  static void check(RocksDB database, int keys) throws RocksDBException {
    for (int i = 0; i < keys; i++) {
      assertArrayEquals(value(2 * i), database.get(key(2 * i)), "key " + 2 * i);
      assertNull(database.get(key(2 * i + 1)), "key " + (2 * i + 1));
    }
  }

  static FamilyStatus status(RocksDB database) throws RocksDBException {
    return Springbloom.status(database, database.getDefaultColumnFamily());
  }

  static void waitIdle() {
    assertTrue(Springbloom.waitIdle(Duration.ofSeconds(60)), "units are still waiting to be loaded");
  }
}
