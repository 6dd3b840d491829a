package org.springbloom.rocksdb;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import javax.management.DynamicMBean;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Registers a bean without keeping its class loader alive. The server of the process holds its beans, and so their classes, until they
 * are unregistered, and nobody tells when an application in the process ends. Therefore the server gets an object that is made of classes
 * of the JDK alone and refers to the bean weakly. It is unregistered when the bean is gone.
 */
final class WeakRegistration {
  private WeakRegistration() {}

  /** The caller keeps what is returned as long as the bean shall live. */
  static Object register(MBeanServer server, ObjectName name, DynamicMBean bean) throws JMException {
    InvocationHandler calls = (proxy, method, arguments) -> call(bean, method, arguments);
    Thread thread = Thread.currentThread();
    ClassLoader context = thread.getContextClassLoader();
    // It would own the classes that are made here, and may be the one that shall go.
    thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
    try {
      server.registerMBean(forwardingTo(new WeakReference<>(calls)), name);
      Cleaner.create().register(calls, unregistration(server, name));
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException("every JDK has these methods", error);
    } finally {
      thread.setContextClassLoader(context);
    }
    return calls;
  }

  private static Object call(DynamicMBean bean, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(bean, arguments);
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  /** {@code (proxy, method, arguments) -> calls.get().invoke(proxy, method, arguments)}, without a class of ours. */
  private static DynamicMBean forwardingTo(WeakReference<InvocationHandler> calls) throws ReflectiveOperationException {
    Lookup lookup = MethodHandles.publicLookup();
    MethodHandle invoke =
        lookup.findVirtual(
            InvocationHandler.class, "invoke", MethodType.methodType(Object.class, Object.class, Method.class, Object[].class));
    MethodHandle get =
        lookup
            .findVirtual(WeakReference.class, "get", MethodType.methodType(Object.class))
            .bindTo(calls)
            .asType(MethodType.methodType(InvocationHandler.class));
    InvocationHandler handler =
        MethodHandleProxies.asInterfaceInstance(InvocationHandler.class, MethodHandles.foldArguments(invoke, get));
    Class<?>[] interfaces = {DynamicMBean.class};
    return (DynamicMBean) Proxy.newProxyInstance(ClassLoader.getPlatformClassLoader(), interfaces, handler);
  }

  /** {@code () -> server.unregisterMBean(name)}. */
  private static Runnable unregistration(MBeanServer server, ObjectName name) throws ReflectiveOperationException {
    MethodHandle unregister =
        MethodHandles.publicLookup()
            .findVirtual(MBeanServer.class, "unregisterMBean", MethodType.methodType(void.class, ObjectName.class));
    return MethodHandleProxies.asInterfaceInstance(Runnable.class, MethodHandles.insertArguments(unregister, 0, server, name));
  }
}
