//! Pessimistic and optimistic transactions over tables with filters.

use rocksdb::{OptimisticTransactionDB, TransactionDB, TransactionDBOptions};

use crate::common::{
    ample,
    contents::{NUMBERS, check, fill, rejections, value},
    folder, installed, small_tree,
};

#[test]
fn transactions_see_tables_with_filters() {
    let (folder, elastic) = (folder(), ample());
    let options = installed(&elastic, &small_tree());
    let db: TransactionDB =
        TransactionDB::open(&options, &TransactionDBOptions::default(), folder.path()).expect("open");
    fill(NUMBERS, |key, value| db.put(key, value).expect("put"), "base");
    db.flush().expect("flush");
    let rejected = rejections(&elastic, || {
        let transaction = db.transaction();
        check(NUMBERS, |key| transaction.get(key).expect("get"), "base");
        // Locks keys that are there and keys that are not.
        check(64, |key| transaction.get_for_update(key, true).expect("get_for_update"), "base");
        let other = db.transaction();
        other.get_for_update(crate::common::contents::key(1), true).expect_err("the key is locked");
        fill(NUMBERS, |key, value| transaction.put(key, value).expect("put"), "undone");
        check(NUMBERS, |key| transaction.get(key).expect("get"), "undone");
        transaction.rollback().expect("rollback");
    });
    assert!(rejected > 0);
    check(NUMBERS, |key| db.get(key).expect("get"), "base");
    let transaction = db.transaction();
    fill(NUMBERS, |key, value| transaction.put(key, value).expect("put"), "done");
    transaction.commit().expect("commit");
    db.flush().expect("flush");
    assert!(rejections(&elastic, || check(NUMBERS, |key| db.get(key).expect("get"), "done")) > 0);
    let keys: Vec<_> = (0..200).map(crate::common::contents::key).collect();
    for (number, got) in (0..).zip(db.transaction().multi_get(&keys)) {
        let expected = crate::common::contents::is_present(number).then(|| value("done", number));
        assert_eq!(got.expect("multi_get"), expected);
    }
}

#[test]
fn optimistic_transactions_notice_conflicts_in_tables_with_filters() {
    let (folder, elastic) = (folder(), ample());
    let options = installed(&elastic, &small_tree());
    let db: OptimisticTransactionDB = OptimisticTransactionDB::open(&options, folder.path()).expect("open");
    fill(NUMBERS, |key, value| db.put(key, value).expect("put"), "base");
    db.flush().expect("flush");
    assert!(rejections(&elastic, || check(NUMBERS, |key| db.get(key).expect("get"), "base")) > 0);

    let transaction = db.transaction();
    // Absent when asked for, present in a table when the transaction commits: a filter must not hide the conflict.
    assert_eq!(transaction.get_for_update("key0000001", true).expect("get"), None);
    transaction.put("other", "x").expect("put");
    db.put("key0000001", "now here").expect("put");
    db.flush().expect("flush");
    transaction.commit().expect_err("the key changed under the transaction");

    let transaction = db.transaction();
    fill(NUMBERS, |key, value| transaction.put(key, value).expect("put"), "done");
    transaction.delete("key0000001").expect("delete");
    transaction.commit().expect("commit");
    db.flush().expect("flush");
    check(NUMBERS, |key| db.get(key).expect("get"), "done");
}
