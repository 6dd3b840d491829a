// What Java calls: the native methods of org.springbloom.rocksdb.Native. A message becomes a Java exception; nothing throws in C++.
#include <dlfcn.h>
#include <jni.h>

#include <chrono>
#include <iterator>
#include <string>
#include <vector>

#include "owners.h"
#include "install/elastic_table_factory.h"
#include "springbloom.h"

namespace springbloom {

namespace {

// Texts cross as arrays of UTF-8: the UTF-8 of JNI's strings has other bytes for NUL and for characters of four bytes, which paths and
// names of column families may have.
std::string TextOf(JNIEnv* env, jbyteArray array) {
  std::string text(static_cast<size_t>(env->GetArrayLength(array)), '\0');
  env->GetByteArrayRegion(array, 0, static_cast<jsize>(text.size()), reinterpret_cast<jbyte*>(text.data()));
  return text;
}

// Null with an exception.
jbyteArray ArrayOf(JNIEnv* env, const std::string& text) {
  const auto size = static_cast<jsize>(text.size());
  jbyteArray array = env->NewByteArray(size);
  if (array != nullptr) {
    env->SetByteArrayRegion(array, 0, size, reinterpret_cast<const jbyte*>(text.data()));
  }
  return array;
}

// As `new String(bytes, "UTF-8")` does in Java; null with an exception.
jobject StringOf(JNIEnv* env, const std::string& text) {
  jbyteArray array = ArrayOf(env, text);
  jclass type = array == nullptr ? nullptr : env->FindClass("java/lang/String");
  jmethodID make = type == nullptr ? nullptr : env->GetMethodID(type, "<init>", "([BLjava/lang/String;)V");
  jstring charset = make == nullptr ? nullptr : env->NewStringUTF("UTF-8");
  return charset == nullptr ? nullptr : env->NewObject(type, make, array, charset);
}

void Throw(JNIEnv* env, const char* exception, const std::string& message) {
  jobject text = StringOf(env, message);
  jclass type = text == nullptr ? nullptr : env->FindClass(exception);
  jmethodID make = type == nullptr ? nullptr : env->GetMethodID(type, "<init>", "(Ljava/lang/String;)V");
  jobject thrown = make == nullptr ? nullptr : env->NewObject(type, make, text);
  if (thrown != nullptr) {
    env->Throw(static_cast<jthrowable>(thrown));
  }
}

constexpr const char* kIllegalArgument = "java/lang/IllegalArgumentException";
constexpr const char* kIllegalState = "java/lang/IllegalStateException";
constexpr const char* kRocksDBException = "org/rocksdb/RocksDBException";

// Whether a budget is below 0 bytes: then with an exception.
bool IsBelowZero(JNIEnv* env, jlong budget_bytes) {
  if (budget_bytes >= 0) {
    return false;
  }
  Throw(env, kIllegalArgument, "springbloom: a budget of " + std::to_string(budget_bytes) + " bytes: expected 0 or more");
  return true;
}

// The start of the library that has an address; null if none has.
const void* LibraryAt(const void* address) {
  Dl_info info;
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

// The address of the table of virtual functions of an object that has one.
const void* VirtualFunctionsOf(const void* object) { return *static_cast<const void* const*>(object); }

// Whether an object's class is in the RocksDB that this library is linked with: another one may be loaded too.
bool IsOfOurRocksDB(const rocksdb::TableFactory* factory) {
  const rocksdb::BlockBasedTableFactory ours;
  const void* library = LibraryAt(VirtualFunctionsOf(static_cast<const rocksdb::TableFactory*>(&ours)));
  return library != nullptr && library == LibraryAt(VirtualFunctionsOf(factory));
}

// The shared instance with settings that alternate with their values; null with an exception.
FiltersRef Configured(JNIEnv* env, jobjectArray names_and_values) {
  std::vector<std::string> texts;
  for (jsize i = 0; i < env->GetArrayLength(names_and_values); ++i) {
    auto* text = static_cast<jbyteArray>(env->GetObjectArrayElement(names_and_values, i));
    texts.push_back(TextOf(env, text));
    env->DeleteLocalRef(text);
  }
  std::vector<sb_setting> settings;
  for (size_t i = 0; i + 1 < texts.size(); i += 2) {
    settings.push_back(sb_setting{Bytes(texts[i]), Bytes(texts[i + 1])});
  }
  char error[512] = "";
  const sb_filters* filters =
      sb_filters_shared_instance(&springbloom_engine, settings.data(), settings.size(), error, sizeof(error));
  if (filters == nullptr) {
    Throw(env, kIllegalArgument, std::string("springbloom.") + error);
    return nullptr;
  }
  return FiltersRef(filters, FiltersRelease());
}

}  // namespace

}  // namespace springbloom

extern "C" {

// The class loader that loaded this library is gone, and nobody can give settings any more.
JNIEXPORT void JNICALL JNI_OnUnload(JavaVM*, void*) { sb_filters_give_up_shared_instance(); }

// Takes a stock table factory and gives one with the same options and filter units. Both are owned by the one that has the number; with an
// exception the stock factory is gone.
JNIEXPORT jlong JNICALL Java_org_springbloom_rocksdb_Native_wrap(JNIEnv* env, jclass, jlong stock_factory,
                                                                 jobjectArray names_and_values) {
  const std::unique_ptr<rocksdb::TableFactory> stock(reinterpret_cast<rocksdb::TableFactory*>(stock_factory));
  if (!springbloom::IsOfOurRocksDB(stock.get())) {
    springbloom::Throw(env, springbloom::kIllegalState,
                       "springbloom: these options belong to another RocksDB library of this process than the one that "
                       "Springbloom was bound to; a process can use it with one");
    return 0;
  }
  const auto* table_options = stock->GetOptions<rocksdb::BlockBasedTableOptions>();
  const springbloom::FiltersRef filters = springbloom::Configured(env, names_and_values);
  if (filters == nullptr) {
    return 0;
  }
  auto factory = std::make_unique<springbloom::ElasticTableFactory>(*table_options, filters);
  const rocksdb::Status s = factory->Connect();
  if (!s.ok()) {
    springbloom::Throw(env, springbloom::kIllegalArgument, s.ToString());
    return 0;
  }
  return reinterpret_cast<jlong>(static_cast<rocksdb::TableFactory*>(factory.release()));
}

// The metrics; null while there is no instance.
JNIEXPORT jbyteArray JNICALL Java_org_springbloom_rocksdb_Native_metrics(JNIEnv* env, jclass) {
  std::string text;
  return springbloom::GetMetrics(&text).ok() ? springbloom::ArrayOf(env, text) : nullptr;
}

// The budget in force; -1 while there is no instance.
JNIEXPORT jlong JNICALL Java_org_springbloom_rocksdb_Native_budgetBytes(JNIEnv*, jclass) {
  uint64_t budget_bytes = 0;
  return springbloom::GetBudget(&budget_bytes).ok() ? static_cast<jlong>(budget_bytes) : -1;
}

JNIEXPORT void JNICALL Java_org_springbloom_rocksdb_Native_setBudgetBytes(JNIEnv* env, jclass, jlong budget_bytes) {
  if (springbloom::IsBelowZero(env, budget_bytes)) {
    return;
  }
  const rocksdb::Status s = springbloom::SetBudget(static_cast<uint64_t>(budget_bytes));
  if (!s.ok()) {
    springbloom::Throw(env, s.IsNotFound() ? springbloom::kIllegalState : springbloom::kIllegalArgument, s.ToString());
  }
}

JNIEXPORT jboolean JNICALL Java_org_springbloom_rocksdb_Native_waitIdle(JNIEnv*, jclass, jlong timeout_ms) {
  return springbloom::WaitIdle(std::chrono::milliseconds(timeout_ms)).ok() ? JNI_TRUE : JNI_FALSE;
}

// Wasted reads per lookup to expect at a budget; below 0 before anything was looked up.
JNIEXPORT jdouble JNICALL Java_org_springbloom_rocksdb_Native_wastedReadsPerLookup(JNIEnv* env, jclass, jlong budget_bytes) {
  double wasted_reads = -1;
  if (springbloom::IsBelowZero(env, budget_bytes)) {
    return wasted_reads;
  }
  return springbloom::GetWastedReadsPerLookup(static_cast<uint64_t>(budget_bytes), &wasted_reads).ok() ? wasted_reads : -1;
}

// Of a column family: whether it is active (1 or 0), its tables with units, its tables without, the restart interval of new indexes.
JNIEXPORT jlongArray JNICALL Java_org_springbloom_rocksdb_Native_status(JNIEnv* env, jclass, jlong db, jlong family) {
  springbloom::FamilyStatus found;
  const rocksdb::Status s =
      springbloom::GetStatus(reinterpret_cast<rocksdb::DB*>(db), reinterpret_cast<rocksdb::ColumnFamilyHandle*>(family), &found);
  if (!s.ok()) {
    springbloom::Throw(env, springbloom::kRocksDBException, s.ToString());
    return nullptr;
  }
  const jlong values[] = {found.is_active ? 1 : 0, static_cast<jlong>(found.tables_with_units),
                          static_cast<jlong>(found.tables_without_units), static_cast<jlong>(found.index_block_restart_interval)};
  constexpr jsize kValues = std::size(values);
  jlongArray array = env->NewLongArray(kValues);
  if (array != nullptr) {
    env->SetLongArrayRegion(array, 0, kValues, values);
  }
  return array;
}

}  // extern "C"
