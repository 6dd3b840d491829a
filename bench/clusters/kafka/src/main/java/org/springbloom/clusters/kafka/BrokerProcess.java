package org.springbloom.clusters.kafka;

import com.fasterxml.jackson.core.type.TypeReference;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;
import org.springbloom.clusters.Child;
import org.springbloom.clusters.Commands;
import org.springbloom.clusters.Json;

/** A Kafka broker, which is its own controller (KRaft), on free ports of the loopback interface. */
final class BrokerProcess {
  private static final String HOST = "127.0.0.1";

  private BrokerProcess() {}

  /**
   * The process and where it listens.
   *
   * @param bootstrap for clients
   */
  record Broker(Child process, String bootstrap) {}

  /** Its log is in the folder. It is asked for its state by clients, which wait for it. */
  static Broker start(Path folder) throws IOException {
    String bootstrap;
    String controller;
    try (ServerSocket first = new ServerSocket(0, 1, InetAddress.getByName(HOST));
        ServerSocket second = new ServerSocket(0, 1, InetAddress.getByName(HOST))) {
      bootstrap = HOST + ":" + first.getLocalPort();
      controller = HOST + ":" + second.getLocalPort();
    }
    Path properties = folder.resolve("broker.properties");
    Files.writeString(properties, properties(bootstrap, controller, folder.resolve("log")));
    Child process = Child.start("broker", folder, "512m", BrokerProcess.class, properties.toString());
    return new Broker(process, bootstrap);
  }

  private static String properties(String bootstrap, String controller, Path log) {
    return String.join(
        "\n",
        "process.roles=broker,controller",
        "node.id=1",
        "controller.quorum.bootstrap.servers=" + controller,
        "listeners=PLAINTEXT://" + bootstrap + ",CONTROLLER://" + controller,
        "controller.listener.names=CONTROLLER",
        "log.dirs=" + log,
        "auto.create.topics.enable=false",
        "offsets.topic.replication.factor=1",
        "offsets.topic.num.partitions=1",
        "transaction.state.log.replication.factor=1",
        "transaction.state.log.min.isr=1",
        "transaction.state.log.num.partitions=1",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms=500",
        // A busy machine may not run it for a while.
        "broker.session.timeout.ms=60000",
        "group.initial.rebalance.delay.ms=2000",
        "group.min.session.timeout.ms=1000");
  }

  /** {@code main FILE} of properties, the process. */
  public static void main(String[] arguments) throws IOException {
    String file = Json.read(arguments[0], new TypeReference<String>() {});
    int code =
        StorageTool.execute(new String[] {"format", "--standalone", "-t", Uuid.randomUuid().toString(), "-c", file}, System.err);
    if (code != 0) {
      throw new IllegalStateException("the broker's log cannot be formatted");
    }
    Thread broker = new Thread(() -> kafka.Kafka.main(new String[] {file}), "broker");
    broker.start();
    Commands.serve(Map.of("stop", () -> null));
  }
}
