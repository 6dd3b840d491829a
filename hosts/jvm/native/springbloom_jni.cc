// What Java calls: the native methods of org.springbloom.rocksdb.Native. A message becomes a Java exception; nothing throws in C++.
#include <dlfcn.h>
#include <jni.h>

#include <chrono>
#include <string>
#include <vector>

#include "owners.h"
#include "install/elastic_table_factory.h"
#include "install/status.h"
#include "springbloom.h"

namespace springbloom {

namespace {

// A string of Java as UTF-8 of JNI: the same but for NUL and what lies outside the basic plane, which no setting has.
std::string TextOf(JNIEnv* env, jobject object) {
  auto* string = static_cast<jstring>(object);
  const char* text = string == nullptr ? nullptr : env->GetStringUTFChars(string, nullptr);
  std::string copy = text == nullptr ? "" : text;
  if (text != nullptr) {
    env->ReleaseStringUTFChars(string, text);
  }
  return copy;
}

void Throw(JNIEnv* env, const char* exception, const std::string& message) {
  if (jclass type = env->FindClass(exception)) {
    env->ThrowNew(type, message.c_str());
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
FiltersRef Configured(JNIEnv* env, jobjectArray names_and_values, const rocksdb::BlockBasedTableOptions& table_options) {
  std::vector<std::string> texts;
  for (jsize i = 0; i < env->GetArrayLength(names_and_values); ++i) {
    jobject text = env->GetObjectArrayElement(names_and_values, i);
    texts.push_back(TextOf(env, text));
    env->DeleteLocalRef(text);
  }
  std::vector<sb_setting> settings;
  for (size_t i = 0; i + 1 < texts.size(); i += 2) {
    settings.push_back(sb_setting{Bytes(texts[i]), Bytes(texts[i + 1])});
  }
  const bool has_cache = !table_options.no_block_cache && table_options.block_cache != nullptr;
  char error[512] = "";
  const sb_filters* filters = sb_filters_shared_instance(&springbloom_engine, settings.data(), settings.size(),
                                                         has_cache ? &table_options.block_cache : nullptr, error, sizeof(error));
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

// Takes a stock table factory and gives one with the same options and filter units. Both are owned by whoever has the number; with an
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
  const springbloom::FiltersRef filters = springbloom::Configured(env, names_and_values, *table_options);
  if (filters == nullptr) {
    return 0;
  }
  return reinterpret_cast<jlong>(
      static_cast<rocksdb::TableFactory*>(new springbloom::ElasticTableFactory(*table_options, filters)));
}

// The metrics as UTF-8; null while there is no instance. Not a string: Java's UTF-8 has no NUL and no characters of four bytes, which names
// of column families may have.
JNIEXPORT jbyteArray JNICALL Java_org_springbloom_rocksdb_Native_metrics(JNIEnv* env, jclass) {
  std::string text;
  if (!springbloom::GetMetrics(&text).ok()) {
    return nullptr;
  }
  const auto size = static_cast<jsize>(text.size());
  jbyteArray array = env->NewByteArray(size);
  if (array != nullptr) {
    env->SetByteArrayRegion(array, 0, size, reinterpret_cast<const jbyte*>(text.data()));
  }
  return array;
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

// Of a column family: whether it is active (1 or 0), its tables with units, its tables without.
JNIEXPORT jlongArray JNICALL Java_org_springbloom_rocksdb_Native_status(JNIEnv* env, jclass, jlong db, jlong family) {
  springbloom::FamilyStatus found;
  const rocksdb::Status s =
      springbloom::GetStatus(reinterpret_cast<rocksdb::DB*>(db), reinterpret_cast<rocksdb::ColumnFamilyHandle*>(family), &found);
  if (!s.ok()) {
    springbloom::Throw(env, springbloom::kRocksDBException, s.ToString());
    return nullptr;
  }
  const jlong values[] = {found.is_active ? 1 : 0, static_cast<jlong>(found.tables_with_units),
                          static_cast<jlong>(found.tables_without_units)};
  jlongArray array = env->NewLongArray(3);
  if (array != nullptr) {
    env->SetLongArrayRegion(array, 0, 3, values);
  }
  return array;
}

}  // extern "C"
