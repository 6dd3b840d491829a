//! The build refuses a RocksDB with coroutines, by what the library defines (build/rocksdb_headers.rs).

#[path = "../../build/archive.rs"]
mod archive;

/// A static library whose index names the symbols.
fn library(symbols: &[&str]) -> Vec<u8> {
    let names: String = symbols.iter().map(|symbol| format!("{symbol}\0")).collect();
    let mut index = u32::try_from(symbols.len()).expect("few symbols").to_be_bytes().to_vec();
    index.resize(4 + 4 * symbols.len(), 0);
    index.extend(names.as_bytes());
    let mut bytes = format!("!<arch>\n{:<48}{:<10}`\n", "/", index.len()).into_bytes();
    bytes.extend(index);
    // An object file may have any bytes.
    bytes.extend(b"BlockBasedTable17MultiGetCoroutineE");
    bytes
}

#[test]
fn a_library_with_coroutines_is_known_by_its_symbols() {
    let table = "_ZN7rocksdb15BlockBasedTable8MultiGetERKNS_11ReadOptionsE";
    let coroutine = "_ZN7rocksdb15BlockBasedTable17MultiGetCoroutineERKNS_11ReadOptionsE";
    assert_eq!(archive::defines(&library(&[table]), "MultiGetCoroutine"), Some(false));
    assert_eq!(archive::defines(&library(&[table, coroutine]), "MultiGetCoroutine"), Some(true));
}

#[test]
fn what_is_no_library_with_an_index_is_not_taken_for_one() {
    let library = library(&["_ZN7rocksdb2DBE"]);
    for cut in [0, 7, 8, 67, 70] {
        assert_eq!(archive::defines(&library[..cut], "Coroutine"), None, "{cut} bytes");
    }
    let without_index = format!("!<arch>\n{:<48}{:<10}`\n1234", "object.o/", 4);
    assert_eq!(archive::defines(without_index.as_bytes(), "Coroutine"), None);
}
