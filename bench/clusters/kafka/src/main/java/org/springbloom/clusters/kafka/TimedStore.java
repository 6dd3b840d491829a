package org.springbloom.clusters.kafka;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.springbloom.clusters.StoreMeter;

/** A store whose lookups are timed. A proxy, because the interfaces of stores grow with each release of Kafka Streams. */
final class TimedStore {
  private TimedStore() {}

  static KeyValueBytesStoreSupplier of(KeyValueBytesStoreSupplier stores) {
    return new KeyValueBytesStoreSupplier() {
      @Override
      public String name() {
        return stores.name();
      }

      @Override
      public KeyValueStore<Bytes, byte[]> get() {
        return timed(stores.get());
      }

      @Override
      public String metricsScope() {
        return stores.metricsScope();
      }
    };
  }

  @SuppressWarnings("unchecked")
  private static KeyValueStore<Bytes, byte[]> timed(KeyValueStore<Bytes, byte[]> store) {
    StoreMeter meter = StoreMeter.of(store.name());
    // Kafka Streams tells by the second one that values begin with a timestamp.
    Class<?>[] interfaces =
        store instanceof TimestampedBytesStore
            ? new Class<?>[] {KeyValueStore.class, TimestampedBytesStore.class}
            : new Class<?>[] {KeyValueStore.class};
    return (KeyValueStore<Bytes, byte[]>)
        Proxy.newProxyInstance(
            TimedStore.class.getClassLoader(), interfaces, (proxy, method, arguments) -> call(store, meter, method, arguments));
  }

  private static Object call(Object store, StoreMeter meter, Method method, Object[] arguments) throws Throwable {
    long begin = System.nanoTime();
    try {
      return method.invoke(store, arguments);
    } catch (InvocationTargetException error) {
      throw error.getCause();
    } finally {
      if (method.getName().equals("get")) {
        meter.recordGet(System.nanoTime() - begin);
      }
    }
  }
}
