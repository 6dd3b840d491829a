package org.springbloom.rocksdb;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

/** A piece of a file that is mapped into this process: a line of {@code /proc/self/maps}. */
final class Mapping {
  private static final String DELETED = " (deleted)";

  /** The file's path, also when it was deleted. */
  final String file;

  final boolean isDeleted;
  private final long start;
  private final int size;
  private final boolean isCode;
  private final long offset;

  private Mapping(String[] fields) {
    isDeleted = fields[5].endsWith(DELETED);
    file = isDeleted ? fields[5].substring(0, fields[5].length() - DELETED.length()) : fields[5];
    String[] range = fields[0].split("-");
    start = Long.parseUnsignedLong(range[0], 16);
    size = (int) Math.min(Long.parseUnsignedLong(range[1], 16) - start, Integer.MAX_VALUE);
    isCode = fields[1].startsWith("r-x");
    offset = Long.parseUnsignedLong(fields[2], 16);
  }

  String fileName() {
    return file.substring(file.lastIndexOf('/') + 1);
  }

  /** Nothing where a sandbox hides them. */
  static List<Mapping> ofThisProcess() {
    try {
      return in(new String(Files.readAllBytes(Paths.get("/proc/self/maps")), StandardCharsets.UTF_8));
    } catch (IOException error) {
      return Collections.emptyList();
    }
  }

  static List<Mapping> in(String maps) {
    return maps.lines()
        .map(line -> line.split("\\s+", 6))
        .filter(fields -> fields.length == 6 && fields[5].startsWith("/"))
        .map(Mapping::new)
        .collect(Collectors.toList());
  }

  /** Whether some of these mappings are code, and all that are have the bytes of a file in memory. Nothing writes to code. */
  static boolean haveTheCodeOf(byte[] file, List<Mapping> mappings) throws IOException {
    List<Mapping> code = mappings.stream().filter(mapping -> mapping.isCode).collect(Collectors.toList());
    try (RandomAccessFile memory = new RandomAccessFile("/proc/self/mem", "r")) {
      for (Mapping mapping : code) {
        byte[] loaded = new byte[mapping.size];
        memory.seek(mapping.start);
        memory.readFully(loaded);
        int from = (int) Math.min(mapping.offset, file.length);
        // The last page has nothing, or zeros, after the end of the file.
        int to = Math.min(from + mapping.size, file.length);
        if (from == to || !Arrays.equals(file, from, to, loaded, 0, to - from)) {
          return false;
        }
      }
    }
    return !code.isEmpty();
  }
}
